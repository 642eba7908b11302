#include "chat/prepared_call.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/pairing.hpp"
#include "engine/costs.hpp"
#include "engine/engine_impl.hpp"
#include "engine/own_options.hpp"
#include "lanes/lanes.hpp"
#include "tools/compact.hpp"
#include "tools/tool_check.hpp"

namespace allm {
namespace {

// Options that adapters read by name and that are not request fields.
constexpr std::array<std::string_view, 3> kAdapterOnly = {"reasoning_effort", "reasoning_summary", "verbosity"};

bool is_adapter_only(std::string_view name) {
  return is_own_option(name) || std::ranges::find(kAdapterOnly, name) != kAdapterOnly.end();
}

bool has_image(const MessageList& messages) {
  return std::any_of(messages.begin(), messages.end(), [](const Message& message) {
    const auto* parts = std::get_if<std::vector<Part>>(&message.content);
    return parts != nullptr && std::any_of(parts->begin(), parts->end(),
                                           [](const Part& part) { return std::holds_alternative<ImagePart>(part); });
  });
}

bool forces_a_call(const ToolChoice& choice) {
  switch (choice.kind()) {
    case ToolChoice::Kind::required:
    case ToolChoice::Kind::tool:
      return true;
    case ToolChoice::Kind::automatic:
    case ToolChoice::Kind::none:
    case ToolChoice::Kind::provider:  // its meaning is not known here
      break;
  }
  return false;
}

}  // namespace

PreparedCall::PreparedCall(const Run& run) : run_(run) {
  const CallOptions& options = run.options;
  Request request = run.request;

  wrong_types_ = EngineAccess::impl(run.engine).params->wrong_types;
  if (options.temperature) wrong_types_.bad_temperature = false;
  if (options.max_tokens) wrong_types_.bad_max_tokens = false;
  if (options.prompt_cache) wrong_types_.bad_prompt_cache = false;
  request.temperature = options.temperature;
  request.max_tokens = options.max_tokens;
  if (run.ask_for_format) request.response_format = options.response_format;
  request.tool_choice = options.tool_choice;
  request.prompt_cache = options.prompt_cache;
  request.stream = options.stream.value_or(true);
  if (request.prompt_cache && !request.prompt_cache->key && options.session_id && !options.session_id->empty()) {
    request.prompt_cache->key = options.session_id;
  }
  request.structured_finalize = run.structured_finalize;

  call_.model = options.model ? options.model : run.engine.model();
  known_model_ = known_model(run, call_.model);
  if (known_model_ != nullptr && call_.model && call_.model->refuses.is_null()) {
    call_.model->refuses = known_model_->refuses;
  }

  call_.options = options.params;
  call_.options.erase("api_key");
  for (const auto& [name, value] : call_.options.items()) {
    if (!is_adapter_only(name)) request.options[name] = value;
  }

  request.tools = project_tools(run.tools->tools(), request.tool_choice);
  call_.request = std::move(request);
  call_.request_id = run.request_id;
  call_.trace = run.trace;
  call_.session_id = options.session_id;
  call_.api_key = options.api_key;
  call_.limits = EngineAccess::impl(run.engine).options.answer_limits;
  call_.include_raw_chunks = options.include_raw_chunks.value_or(false);
  call_.runtime = run.engine.runtime();
  call_.budget = run.budget;
}

void PreparedCall::release_tool_choice() {
  std::optional<ToolChoice>& choice = call_.request.tool_choice;
  if (run_.options.repeat_tool_choice.value_or(false) || !choice || !forces_a_call(*choice)) return;
  choice = ToolChoice::automatic();
}

Status PreparedCall::set_messages(MessageList messages, std::size_t checked, ValidationError::Reason reason) {
  if (Status paired = check_pairs(messages, checked, reason); !paired) return paired;
  lacks_results_ = (lacks_results_ && checked > 0) || lacks_results(messages, checked);
  call_.request.messages = lacks_results_ ? with_missing_results(messages) : std::move(messages);
  return {};
}

Status PreparedCall::check(std::size_t checked_messages) const {
  if (!run_.engine.adapter()) {
    return std::unexpected(Error(EngineError{.reason = EngineError::Reason::missing_adapter},
                                 "the engine has no adapter: set EngineOptions::adapter to reach a model"));
  }
  if (Status valid = check_request(call_.request, checked_messages, wrong_types_); !valid) return valid;
  if (Status valid = check_tools(run_, lane_calls()); !valid) return valid;
  return check_capabilities();
}

Status PreparedCall::check_capabilities() const {
  if (known_model_ == nullptr && !call_.model) return {};
  const auto forbids = [this](std::string_view capability) {
    std::optional<bool> own = call_.model ? call_.model->capability(capability) : std::nullopt;
    if (!own && known_model_ != nullptr) own = known_model_->capability(capability);
    return own == false;
  };
  const Request& request = call_.request;
  std::vector<FieldError> errors;
  if (!request.tools.empty() && forbids("tools")) {
    errors.push_back({{std::string("tools")}, "tools_disabled"});
  }
  if (request.response_format && request.response_format->kind() == ResponseFormat::Kind::json_schema &&
      forbids("json_native")) {
    errors.push_back({{std::string("response_format")}, "json_native_disabled"});
  }
  if (forbids("vision") && has_image(request.messages)) {
    errors.push_back({{std::string("vision")}, "vision_disabled"});
  }
  if (errors.empty()) return {};
  std::string message = "the model '" + (known_model_ != nullptr ? known_model_->id : call_.model->id) +
                        "' cannot do what the request needs:";
  for (const FieldError& error : errors) message += " " + error.reason;
  return std::unexpected(
      Error(ValidationError{ValidationError::Reason::unsupported_capability, std::move(errors)}, std::move(message)));
}

}  // namespace allm
