#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "data/path.hpp"
#include "testing/scenario/reader.hpp"
#include "testing/scenario/scenario.hpp"

namespace allm::scenario {
namespace {

std::optional<Json> copy(const Json* value) { return value == nullptr ? std::nullopt : std::optional<Json>(*value); }

// Reads the members that every operation may have.
void parse_common(const Reader& reader, Operation& operation) {
  if (const Json* options = reader.object("options")) operation.options = *options;
  if (operation.streamed) {
    const auto take = reader.count("take", std::numeric_limits<std::int32_t>::max());
    if (take) operation.take = static_cast<std::size_t>(*take);
  } else if (reader.find("take") != nullptr) {
    reader.errors().add(reader.path("take"), "not_allowed", "only the stream forms accept it");
  }
}

void parse_model(const Json& value, const Path& path, ScenarioErrors& errors, ModelOperation::Form form,
                 Operation& operation) {
  const Reader reader(value, path, {"messages", "again", "take", "options"}, errors);
  ModelOperation model{form, copy(reader.find("messages"))};
  const bool again = reader.boolean("again").value_or(false);
  if (again && form == ModelOperation::Form::generate) {
    errors.add(reader.path("again"), "not_allowed", "only step, chat and their stream forms continue a thread");
  } else if (again && model.messages) {
    errors.add(reader.path("again"), "not_allowed", "it replaces `messages`; give only one of them");
  } else if (!again) {
    reader.require("messages");
  }
  parse_common(reader, operation);
  operation.what = std::move(model);
}

ToolCall parse_call(const Json& value, const Path& path, ScenarioErrors& errors) {
  const Reader reader(value, path, {"id", "name", "arguments", "raw_arguments"}, errors);
  ToolCall call{.id = reader.required_text("id").value_or(""), .name = reader.required_text("name").value_or("")};
  call.raw_arguments = reader.text("raw_arguments");
  if (const Json* arguments = reader.find("arguments")) {
    call.arguments = *arguments;
  } else if (call.raw_arguments) {
    Result<Json> parsed = parse_json(*call.raw_arguments);
    if (parsed && parsed->is_object()) call.arguments = *std::move(parsed);
  }
  return call;
}

void parse_tools(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  const Reader reader(value, path, {"calls", "take", "options"}, errors);
  ToolsOperation tools;
  reader.require("calls");
  if (const Json* calls = reader.array("calls")) {
    for (std::size_t i = 0; i < calls->size(); ++i) {
      tools.calls.push_back(
          parse_call((*calls)[i], extended(reader.path("calls"), static_cast<std::int64_t>(i)), errors));
    }
  }
  parse_common(reader, operation);
  operation.what = std::move(tools);
}

void parse_start(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  const Reader reader(value, path, {"messages", "id", "context", "metadata", "take", "options"}, errors);
  operation.what = SessionStartOperation{.messages = copy(reader.find("messages")),
                                         .id = reader.text("id"),
                                         .context = copy(reader.object("context")),
                                         .metadata = copy(reader.object("metadata"))};
  parse_common(reader, operation);
}

void parse_reply(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  const Reader reader(value, path, {"text", "take", "options"}, errors);
  operation.what = SessionReplyOperation{reader.required_text("text").value_or("")};
  parse_common(reader, operation);
}

void parse_continue(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  const Reader reader(value, path, {"message", "take", "options"}, errors);
  operation.what = SessionContinueOperation{copy(reader.find("message")).value_or(nullptr)};
  parse_common(reader, operation);
}

SubmittedResult parse_submitted(const Reader& reader) {
  SubmittedResult result{reader.required_text("id").value_or(""), nullptr};
  if (const Json* value = reader.require("result")) result.result = *value;
  return result;
}

void parse_submit(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  const Reader reader(value, path, {"id", "result", "options"}, errors);
  operation.what = SubmitOperation{.results = {parse_submitted(reader)}};
  parse_common(reader, operation);
}

void parse_submit_all(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  SubmitOperation submit{.batch = true};
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Path here = extended(path, static_cast<std::int64_t>(i));
      submit.results.push_back(parse_submitted(Reader(value[i], here, {"id", "result"}, errors)));
    }
  } else {
    errors.add(path, "invalid_type", "expected an array");
  }
  operation.what = std::move(submit);
}

void parse_append(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  const Reader reader(value, path, {"messages", "options"}, errors);
  operation.what = AppendMessagesOperation{copy(reader.require("messages")).value_or(Json::array())};
  parse_common(reader, operation);
}

template <ModelOperation::Form form>
void parse_model_form(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  parse_model(value, path, errors, form, operation);
}

// For operations without members of their own.
template <class What>
void parse_plain(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation) {
  const Reader reader(value, path, {"take", "options"}, errors);
  operation.what = What{};
  parse_common(reader, operation);
}

struct OperationForm {
  std::string_view name;
  bool streamed;
  void (*parse)(const Json& value, const Path& path, ScenarioErrors& errors, Operation& operation);
};

constexpr std::array<OperationForm, 21> kOperationForms = {{
    {"generate", false, parse_model_form<ModelOperation::Form::generate>},
    {"stream_generate", true, parse_model_form<ModelOperation::Form::generate>},
    {"step", false, parse_model_form<ModelOperation::Form::step>},
    {"stream_step", true, parse_model_form<ModelOperation::Form::step>},
    {"chat", false, parse_model_form<ModelOperation::Form::chat>},
    {"stream", true, parse_model_form<ModelOperation::Form::chat>},
    {"tool_calls", false, parse_tools},
    {"stream_tool_calls", true, parse_tools},
    {"session_start", false, parse_start},
    {"session_stream_start", true, parse_start},
    {"session_reply", false, parse_reply},
    {"session_stream_reply", true, parse_reply},
    {"session_continue", false, parse_continue},
    {"session_stream_continue", true, parse_continue},
    {"session_step", false, parse_plain<SessionStepOperation>},
    {"session_stream_step", true, parse_plain<SessionStepOperation>},
    {"session_recover", false, parse_plain<SessionRecoverOperation>},
    {"session_roundtrip", false, parse_plain<SessionRoundtripOperation>},
    {"submit_tool_result", false, parse_submit},
    {"submit_tool_results", false, parse_submit_all},
    {"append_messages", false, parse_append},
}};

}  // namespace

Operation parse_operation(const Json& json, const Path& path, ScenarioErrors& errors) {
  Operation operation;
  if (!json.is_object() || json.size() != 1) {
    errors.add(path, "invalid_type", "expected an object with one key, the operation");
    return operation;
  }
  const std::string& name = json.begin().key();
  const auto* form = std::ranges::find(kOperationForms, name, &OperationForm::name);
  if (form == kOperationForms.end()) {
    errors.add(extended(path, name), "unknown_operation", "no such operation");
    return operation;
  }
  operation.streamed = form->streamed;
  form->parse(json.begin().value(), extended(path, name), errors, operation);
  return operation;
}

}  // namespace allm::scenario
