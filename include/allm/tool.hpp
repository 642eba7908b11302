// Tools: functions that a model may call.
//
//   auto weather = allm::tool({
//       .name = "weather",
//       .description = "Current weather of a city.",
//       .schema = {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}},
//       .handler = [](const Json& arguments) { return allm::ok({{"temperature", 21}}); },
//   });
//
// A Tool is a value: plain data, except for the handler, which copies share. allm/handler.hpp describes handlers,
// allm/tool_outcome.hpp their answers, allm/lane.hpp where they run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "allm/handler.hpp"
#include "allm/lane.hpp"
#include "allm/tool_outcome.hpp"

namespace allm {

// What happens to a call that was started by a process which has died since, when its session is resumed
// (allm/session_runner.hpp).
enum class OnInterrupted : std::uint8_t {
  fail,   // the model is told an error, which says that the call may have had effects
  retry,  // the call is run again; for tools that may run twice. ToolContext::idempotency_key() is the same
  ask,    // the call becomes pending (PendingKind::suspended), and a person decides whether it runs again
};

// A tool. Handler, lane, limits, command and on_interrupted are not part of the JSON form, and operator== ignores them.
struct Tool {
  std::string name = {};
  std::string description = {};
  // JSON Schema of the arguments, which are always an object.
  Json schema = empty_object();
  Handler handler = {};
  // If true, the loop never runs the tool: its calls become pending, and the program answers them.
  bool manual = false;
  // If true, the model gets a short form of the tool. It gets the full form when it calls the tool `tool_help`, which
  // allm adds. This saves input tokens if many tools are declared and few are used.
  bool compact = false;
  // The text of the short form. Default: the first sentence of the description.
  std::optional<std::string> summary = std::nullopt;
  // Whether arguments are checked against the schema before the handler is called.
  bool validate_arguments = true;
  // How long a call may take; default: the run's `tool_timeout`.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  // Where the handler runs. In Lane::worker, the worker process calls the handler of the tool that has the same name in
  // the list given to run_as_worker_if_asked (allm/workers.hpp), not `handler`.
  Lane lane = Lane::thread;
  // A program that is run instead of a handler.
  std::optional<Command> command = std::nullopt;
  // Limits on the process of a worker or a command. Handlers on threads have no limits.
  ToolLimits limits = {};
  OnInterrupted on_interrupted = OnInterrupted::fail;
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  friend bool operator==(const Tool& a, const Tool& b);
};

// Returns `declaration`, so that a program can write `auto weather = tool({…})`.
Tool tool(Tool declaration);

}  // namespace allm
