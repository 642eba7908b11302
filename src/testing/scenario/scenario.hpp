// A scenario file as values: the model's answers, the tools, the operations and the expected observations. Plain data;
// reading a scenario runs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "allm/fake.hpp"
#include "allm/model.hpp"
#include "allm/session_ops.hpp"
#include "allm/tool.hpp"

#include "testing/scenario/scenario_errors.hpp"

namespace allm::scenario {

// Messages stay JSON until the operation runs, because errors in them are observations.

// generate, step, chat
struct ModelOperation {
  enum class Form : std::uint8_t { generate, step, chat };
  Form form = Form::chat;
  // Nullopt for `again`: the operation uses the thread of the last step or chat.
  std::optional<Json> messages;
};
// tool_calls
struct ToolsOperation {
  std::vector<ToolCall> calls;
};
struct SessionStartOperation {
  std::optional<Json> messages;  // nullopt: start with the current session
  std::optional<std::string> id;
  std::optional<Json> context;
  std::optional<Json> metadata;
};
struct SessionReplyOperation {
  std::string text;
};
struct SessionContinueOperation {
  Json message = nullptr;  // null: continue without a message
};
struct SessionStepOperation {};
struct SessionRecoverOperation {};
// submit_tool_result, submit_tool_results
struct SubmitOperation {
  std::vector<SubmittedResult> results;
  bool batch = false;  // false: `results` has exactly one element
};
struct SessionRoundtripOperation {};
struct AppendMessagesOperation {
  Json messages;
};

struct Operation {
  std::variant<ModelOperation, ToolsOperation, SessionStartOperation, SessionReplyOperation, SessionContinueOperation,
               SessionStepOperation, SessionRecoverOperation, SubmitOperation, SessionRoundtripOperation,
               AppendMessagesOperation>
      what;
  bool streamed = false;
  std::optional<std::size_t> take = std::nullopt;  // drop the stream after this number of events
  Json options = Json::object();
};

struct Scenario {
  std::string name;
  FakeScript scripts;
  std::vector<Tool> tools;
  std::optional<ModelRef> model;
  Json params = Json::object();
  Json context = Json::object();
  Json options = Json::object();
  std::vector<Operation> run;
  Json expect;  // an array, one pattern per operation; null matches anything
};

// Reads one scenario whose tools run in `lane`. Errors are reported under `path`; if there are any, the result must not
// be used.
Scenario parse_scenario(const Json& json, const Path& path, Lane lane, ScenarioErrors& errors);

// Reads one operation, an object with one key.
Operation parse_operation(const Json& json, const Path& path, ScenarioErrors& errors);

// Reads one scenario (an object) or several (an array). Fails with ValidationError `invalid_scenario`, which has every
// error.
Result<std::vector<Scenario>> parse_scenarios(const Json& json, Lane lane = Lane::thread);

}  // namespace allm::scenario
