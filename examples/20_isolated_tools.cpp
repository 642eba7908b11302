// Tools that may crash, hang or leak run in processes of their own.
//
// `divide` runs in a worker: a process of this executable, started when it is needed and kept for further calls.
// Dividing by zero ends that process only; the model gets the error, and the next call gets a new worker. `shout` is a
// program of the system, run without a shell.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "allm/allm.hpp"
#include "allm/fake.hpp"

namespace {

int fail(const std::string& why) {
  std::cerr << "not as expected: " << why << '\n';
  return 1;
}

allm::ToolOutcome divide(const allm::Json& arguments) {
  const int a = arguments.at("a").get<int>();
  const int b = arguments.at("b").get<int>();
  if (b == 0) std::abort();  // a bug
  return allm::ok(a / b);
}

}  // namespace

int main() {
  const allm::Tool division{.name = "divide",
                            .description = "Divides two whole numbers.",
                            .handler = &divide,
                            .timeout = std::chrono::seconds(10),
                            .lane = allm::Lane::worker,
                            .limits = {.memory = std::uint64_t{1} << 30U, .sandbox = {.required = false}}};
  // Returns at once here, and never in a worker.
  allm::run_as_worker_if_asked({division});

  const allm::Tool shout{.name = "shout",
                         .description = "Writes in capitals.",
                         .command = allm::Command{.argv = {"tr", "a-z", "A-Z"}, .input = allm::CommandInput::json}};
  const allm::Engine engine(
      {.adapter = allm::fake({
           {allm::fake_tool_call("c1", "divide", {{"a", 84}, {"b", 2}}),
            allm::fake_tool_call("c2", "divide", {{"a", 1}, {"b", 0}}),
            allm::fake_tool_call("c3", "shout", {{"text", "hello"}}),
            allm::fake_finish(allm::FinishReason::tool_calls)},
           {allm::fake_text("42, and never divide by zero."), allm::fake_finish(allm::FinishReason::stop)},
       }),
       .tools = {division, shout}});
  const auto result = allm::chat(engine, {allm::user("Divide, please.")});
  if (!result) return fail(result.error().message());
  for (const allm::Message& message : result->steps[0].tool_results) std::cout << message.text() << '\n';
  std::cout << result->text() << '\n';

  const std::vector<allm::Message>& answers = result->steps[0].tool_results;
  if (answers[0].text() != "42") return fail("the division");
  if (answers[1].text().find("SIGABRT") == std::string::npos) return fail("the crash");
  if (answers[2].text() != R"({"TEXT":"HELLO"})") return fail("the command");
  return 0;
}
