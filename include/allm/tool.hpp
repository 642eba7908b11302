// Tools: what a model may call.
//
//   auto weather = allm::tool({
//       .name = "weather",
//       .description = "Current weather of a city.",
//       .schema = {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}},
//       .handler = [](const Json& arguments) { return allm::ok({{"temperature", 21}}); },
//   });
//
// This is the declaration: data, but for the handler. allm/handler.hpp says what a handler is, allm/tool_outcome.hpp
// what it answers, allm/lane.hpp where it runs.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "allm/handler.hpp"
#include "allm/lane.hpp"
#include "allm/tool_outcome.hpp"

namespace allm {

// A tool. What runs it (handler, lane, limits, command) does not survive JSON; two tools are equal if all else is.
struct Tool {
  std::string name = {};
  std::string description = {};
  // JSON Schema of the arguments, which are always an object.
  Json schema = empty_object();
  Handler handler = {};
  // Never run by the loop: its calls are handed to the program.
  bool manual = false;
  // Sent to the model in short form, with the full one on request through `tool_help`. Saves
  // input tokens where many tools are declared and few are used.
  bool compact = false;
  std::optional<std::string> summary = std::nullopt;  // the short form's text; default: first sentence
  // Check arguments against the schema before the handler sees them.
  bool validate_arguments = true;
  // How long a call may take; default: the run's `tool_timeout`.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  // Where the handler runs. In a worker it is the one that run_as_worker_if_asked was given under this name.
  Lane lane = Lane::thread;
  // The program that is run instead of a handler.
  std::optional<Command> command = std::nullopt;
  // For workers and commands.
  ToolLimits limits = {};
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  friend bool operator==(const Tool& a, const Tool& b);
};

// The same tool: reads well at the place where a tool is declared.
Tool tool(Tool declaration);

}  // namespace allm
