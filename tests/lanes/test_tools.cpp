// The tools of the tests' workers.
#include <atomic>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "allm/tool_runner.hpp"

#include "tests/lanes/misbehaviour.hpp"

namespace allm::testing {
namespace {

ToolOutcome describe(const Json& arguments, const ToolContext& context) {
  const Json session = context.session_id() ? Json(*context.session_id()) : Json(nullptr);
  return ok({{"arguments", arguments},
             {"context", context.context()},
             {"session_id", session},
             {"request_id", context.request_id()},
             {"traceparent", context.traceparent().value_or("")},
             {"call_id", context.tool_call().id},
             {"in_time", context.deadline() > std::chrono::steady_clock::now()},
             {"asked_to_stop", context.stop_token().stop_requested()},
             {"pid", getpid()}});
}

ToolOutcome outcome(const Json& arguments) {
  const auto kind = arguments.at("kind").get<std::string>();
  if (kind == "failure") return failure({{"code", 7}});
  if (kind == "ask_user") return ask_user("which?", {{"choices", {1, 2}}});
  if (kind == "halt") return halt("enough", {{"n", 1}});
  if (kind == "not_utf8") return ok("\xff\xfe");
  if (kind == "large") return ok(std::string(arguments.at("size").get<std::size_t>(), 'x'));
  return ok(kind);
}

ToolOutcome report(const Json& arguments, const ToolContext& context) {
  for (int i = 0; i < arguments.value("count", 3); ++i) context.report_progress({{"done", i}});
  return ok("reported");
}

// Waits until it is asked to stop, then creates the file that the test waits for.
ToolOutcome heed_stop(const Json& arguments, const ToolContext& context) {
  std::atomic<bool> asked = false;
  const std::stop_callback callback(context.stop_token(), [&] {
    asked = true;
    asked.notify_all();
  });
  asked.wait(false);
  close(open(arguments.at("file").get<std::string>().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  return ok("stopped");
}

ToolOutcome try_things(const Json& arguments) {
  Json seen = Json::object();
  const int network = socket(AF_INET, SOCK_STREAM, 0);
  seen["socket"] = network >= 0;
  if (network >= 0) close(network);
  for (const Json& path : arguments.value("files", Json::array())) {
    const int file = open(path.get<std::string>().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    seen["files"].push_back(file >= 0);
    if (file >= 0) close(file);
  }
  seen["reads"] = access("/etc/passwd", R_OK) == 0;
  return ok(seen);
}

ToolOutcome open_many_files(const Json&) {
  int count = 0;
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++count;
  for (int fd = 4; fd < 4096; ++fd) close(fd);
  return ok(count);
}

// A handler that runs a tool itself, as an agent in a tool does.
ToolOutcome run_nested(const Json&) {
  const Tool echo{.name = "echo", .command = Command{.argv = {"echo", "from below"}}};
  const auto batch = run_tool_calls({{.id = "n", .name = "echo"}}, {echo});
  return batch ? ok(batch->messages.at(0).text()) : failure(batch.error().message());
}

Tool in_worker(std::string name, Handler handler) {
  return {.name = std::move(name), .handler = std::move(handler), .lane = Lane::worker};
}

std::vector<Tool>& added_tools() {
  static std::vector<Tool> tools;
  return tools;
}

}  // namespace

AddedWorkerTool::AddedWorkerTool(std::string name, Handler handler)
    : tool_(in_worker(std::move(name), std::move(handler))) {
  added_tools().push_back(tool_);
}

std::vector<Tool> worker_tools() {
  std::vector<Tool> tools = added_tools();
  for (const std::string& kind : misbehaviours()) tools.push_back(worker_tool(kind));
  tools.push_back(in_worker("describe", &describe));
  tools.push_back(in_worker("outcome", &outcome));
  tools.push_back(in_worker("report", &report));
  tools.push_back(in_worker("heed_stop", &heed_stop));
  tools.push_back(in_worker("try_things", &try_things));
  tools.push_back(in_worker("open_files", &open_many_files));
  tools.push_back(in_worker("run_nested", &run_nested));
  tools.push_back(in_worker("later", [](const Json&, ToolCompletion done) {
    std::thread([done = std::move(done)] { done(ok("later")); }).detach();
  }));
  tools.push_back(in_worker("never", [](const Json&, const ToolCompletion&) {}));
  return tools;
}

}  // namespace allm::testing
