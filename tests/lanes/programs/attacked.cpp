#include "tests/lanes/programs/attacked.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <grp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "allm/allm.hpp"

#include "tests/lanes/misbehaviour.hpp"

namespace allm::testing {
namespace {

void refuse_threads() {
  // Root may start as many as it likes.
  const uid_t nobody = 65534;
  if (getuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0)) std::exit(3);
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) std::exit(4);
}

// The text of the error, empty if there is none.
std::string error_without_threads(const std::string& use) {
  const Engine engine({.adapter = openai({.base_url = "http://127.0.0.1:1/v1", .api_key = "k"}),
                       .model = "m",
                       .runtime = Runtime::create()});
  const auto error_of = [](const auto& result) { return result ? std::string() : result.error().message(); };
  const auto tool_error = [&](const Tool& tool, const Engine& used) {
    const auto batch = run_tool_calls({{.id = "c", .name = tool.name}}, {tool}, {}, used);
    return batch ? batch->messages.at(0).text() : batch.error().message();
  };
  const Tool handler{.name = "t", .handler = [](const Json&) { return ok("ran"); }};
  if (use == "late_thread_tool") {
    // The loop has its thread; the pool has none.
    const Timer timer = engine.runtime()->after(std::chrono::hours(1), [] {});
    refuse_threads();
    return tool_error(handler, engine);
  }
  if (use == "warm_worker") {
    const std::string first = tool_error(worker_tool("returns"), engine);
    refuse_threads();
    const std::string second = tool_error(worker_tool("returns"), engine);
    return second == first ? "no further thread needed" : second;
  }
  refuse_threads();
  if (use == "chat") return error_of(chat(engine, {user("hi")}));
  if (use == "stream" || use == "polled_stream") {
    ChatStream events = stream(engine, {user("hi")});
    for (int i = 0; i < 100; ++i) {
      const Poll event = use == "stream" ? events.next() : events.poll(Waker([] {}));
      if (!event) return "no error event";
      if (const auto* failed = event->get_if<ErrorEvent>()) return failed->error.message();
    }
  }
  if (use == "timer") {
    const Timer timer = engine.runtime()->after(std::chrono::milliseconds(1), [] {});
    return "thread of the timer refused";
  }
  if (use == "worker") return tool_error(worker_tool("returns"), engine);
  if (use == "command") return tool_error(command_tool("returns"), engine);
  return tool_error(handler, engine);
}

}  // namespace

int use_without_threads(const std::string& use) {
  const std::string error = error_without_threads(use);
  std::printf("%s: %s\n", error.find("thread") == std::string::npos ? "not expected" : "as expected", error.c_str());
  return 0;
}

void fork_and_wait() {
  Tool command = command_tool("sleeps");
  command.name = "command";
  EventStream events = stream_tool_calls({{.id = "0", .name = "sleeps"}, {.id = "1", .name = "command"}},
                                         {worker_tool("sleeps"), command});
  for (int i = 0; i < 2; ++i) events.next();
  events.next(std::chrono::steady_clock::now() + std::chrono::milliseconds(300));
  const pid_t child = fork();
  if (child != 0) {
    std::printf("%d\n", child);
    std::fflush(stdout);
  }
  alarm(120);  // if nobody kills it
  while (true) pause();
}

}  // namespace allm::testing
