// A scenario file as values: what the model says, what the tools do, which operations run and what
// must be observed. Plain data; reading it runs nothing.
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

#include "testing/scenario/problems.hpp"

namespace allm::scenario {

// Messages stay JSON until the operation runs: what is wrong with them is an observation.

// generate, step, chat
struct ModelOperation {
  enum class Form : std::uint8_t { generate, step, chat };
  Form form = Form::chat;
  // Null for `again`: the thread that the last step or chat returned.
  std::optional<Json> messages;
};
// tool_calls
struct ToolsOperation {
  std::vector<ToolCall> calls;
};
struct SessionStartOperation {
  std::optional<Json> messages;  // null: start on the current session
  std::optional<std::string> id;
  std::optional<Json> context;
  std::optional<Json> metadata;
};
struct SessionReplyOperation {
  std::string text;
};
struct SessionContinueOperation {
  Json message = nullptr;  // null: none
};
struct SessionStepOperation {};
struct SessionRecoverOperation {};
// submit_tool_result, submit_tool_results
struct SubmitOperation {
  std::vector<SubmittedResult> results;
  bool batch = false;  // otherwise there is exactly one
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
  std::optional<std::size_t> take = std::nullopt;  // of a stream: drop it after so many events
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

// Reads one scenario whose tools run in that lane. Everything that departs from the format is reported under `path`;
// the result is then not to be used.
Scenario parse_scenario(const Json& json, const Path& path, Lane lane, Problems& problems);

// Reads one operation, an object with one key.
Operation parse_operation(const Json& json, const Path& path, Problems& problems);

// Reads an object, or an array of them. Fails with ValidationError `invalid_scenario`, which names
// every problem found.
Result<std::vector<Scenario>> parse_scenarios(const Json& json, Lane lane = Lane::thread);

}  // namespace allm::scenario
