// host [HELPER]: a program that somebody else owns, so its main does not call run_as_worker_if_asked. Prints the
// results of a command and of a worker tool.
#include <cstdio>
#include <string>

#include "allm/allm.hpp"

int main(int count, char** arguments) {
  using namespace allm;
  const Engine engine({.runtime = Runtime::create({.helper = count > 1 ? arguments[1] : ""})});
  const Tool command{.name = "echo", .command = Command{.argv = {"echo", "from a command"}}};
  // The handler is the one that the helper has under this name.
  const Tool worker{
      .name = "returns", .handler = [](const Json&) { return ok("from the host"); }, .lane = Lane::worker};
  const auto batch =
      run_tool_calls({{.id = "0", .name = "echo"}, {.id = "1", .name = "returns"}}, {command, worker}, {}, engine);
  if (!batch) {
    std::puts(batch.error().message().c_str());
    return 1;
  }
  for (const Message& message : batch->messages) std::puts(message.text().c_str());
  return 0;
}
