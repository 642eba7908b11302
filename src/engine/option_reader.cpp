#include "engine/option_reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "allm/trace.hpp"

#include "data/immortal.hpp"
#include "engine/option_names.hpp"

namespace allm {
namespace {

bool read_integer(const Json& value, std::optional<std::int64_t>& target, std::string& message) {
  if (value.is_number_integer()) {
    target = value.get<std::int64_t>();
    return true;
  }
  message = "must be an integer";
  return false;
}

bool read_number(const Json& value, std::optional<double>& target, std::string& message) {
  if (value.is_number()) {
    target = value.get<double>();
    return true;
  }
  message = "must be a number";
  return false;
}

bool read_bool(const Json& value, std::optional<bool>& target, std::string& message) {
  if (value.is_boolean()) {
    target = value.get<bool>();
    return true;
  }
  message = "must be true or false";
  return false;
}

bool read_text(const Json& value, std::optional<std::string>& target, std::string& message) {
  if (value.is_string()) {
    target = value.get<std::string>();
    return true;
  }
  message = "must be a text";
  return false;
}

bool read_traceparent(const Json& value, std::optional<std::string>& target, std::string& message) {
  if (!read_text(value, target, message)) return false;
  if (parse_traceparent(*target)) return true;
  target.reset();
  message = "is not a valid W3C traceparent";
  return false;
}

bool read_mode(const Json& value, CallOptions& options, std::string& message) {
  if (value == "auto") {
    options.mode = Mode::automatic;
  } else if (value == "manual") {
    options.mode = Mode::manual;
  } else {
    message = R"(must be "auto" or "manual")";
    return false;
  }
  return true;
}

bool read_on_tool_error(const Json& value, CallOptions& options, std::string& message) {
  if (value == "continue") {
    options.on_tool_error = ToolErrorAction::tell_model;
  } else if (value == "halt") {
    options.on_tool_error = ToolErrorAction::halt;
  } else {
    message = R"(must be "continue", "halt" or a function)";
    return false;
  }
  return true;
}

bool read_on_unknown_tool(const Json& value, CallOptions& options, std::string& message) {
  if (value == "error") {
    options.on_unknown_tool = OnUnknownTool::error;
  } else if (value == "report") {
    options.on_unknown_tool = OnUnknownTool::report;
  } else {
    message = R"(must be "error" or "report")";
    return false;
  }
  return true;
}

bool read_timeout(const Json& value, std::optional<std::chrono::milliseconds>& timeout, std::string& message) {
  std::optional<std::int64_t> milliseconds;
  if (!read_integer(value, milliseconds, message)) return false;
  timeout = std::chrono::milliseconds(*milliseconds);
  return true;
}

bool read_prompt_cache(const Json& value, CallOptions& options) {
  if (value.is_boolean()) {
    if (value.get<bool>()) options.prompt_cache = PromptCache{};
    return true;
  }
  if (!value.is_object()) return false;
  PromptCache cache;
  for (const auto& [key, entry] : value.items()) {
    if (key == "key" && (entry.is_null() || (entry.is_string() && !entry.get_ref<const std::string&>().empty()))) {
      if (entry.is_string()) cache.key = entry.get<std::string>();
    } else if (key == "retention" && (entry == "short" || entry == "long")) {
      cache.retention = entry == "long" ? PromptCache::Retention::long_term : PromptCache::Retention::short_term;
    } else {
      return false;
    }
  }
  options.prompt_cache = std::move(cache);
  return true;
}

// Options that become part of the request; the validation of the request reports their errors.
bool read_request_option(std::string_view name, const Json& value, CallOptions& options, WrongTypes& wrong) {
  if (name == "temperature") {
    wrong.bad_temperature = !value.is_number();
    if (value.is_number()) options.temperature = value.get<double>();
  } else if (name == "max_tokens") {
    wrong.bad_max_tokens = !value.is_number_integer();
    if (value.is_number_integer()) options.max_tokens = value.get<std::int64_t>();
  } else if (name == "response_format") {
    options.response_format = ResponseFormat::from_json(value);
  } else if (name == "tool_choice") {
    options.tool_choice = ToolChoice::from_json(value);
  } else if (name == "prompt_cache") {
    wrong.bad_prompt_cache = !read_prompt_cache(value, options);
  } else {
    return false;
  }
  return true;
}

bool is_filter(std::string_view name) {
  return name == "emit_text_deltas" || name == "emit_tool_deltas" || name == "emit_reasoning" ||
         name == "include_raw_chunks";
}

}  // namespace

OptionRead read_option(std::string_view name, const Json& value, CallOptions& options, WrongTypes& wrong,
                       std::string& message) {
  static const Json& nothing = immortal<Json>();
  CallOptions scratch;
  // A null is read into `scratch`, because its name has to be checked, too.
  CallOptions& target = value.is_null() ? scratch : options;
  const auto taken = [&value](bool fits) { return fits || value.is_null() ? OptionRead::taken : OptionRead::invalid; };
  if (name == "mode") return taken(read_mode(value, target, message));
  if (name == "max_turns") return taken(read_integer(value, target.max_turns, message));
  if (name == "tool_timeout_ms") return taken(read_timeout(value, target.tool_timeout, message));
  if (name == "run_timeout_ms") return taken(read_timeout(value, target.run_timeout, message));
  if (name == "max_total_tokens") return taken(read_integer(value, target.max_total_tokens, message));
  if (name == "max_cost") return taken(read_number(value, target.max_cost, message));
  if (name == "max_tool_calls") return taken(read_integer(value, target.max_tool_calls, message));
  if (name == "max_repeated_failures") return taken(read_integer(value, target.max_repeated_failures, message));
  if (name == "strict_limits") return taken(read_bool(value, target.strict_limits, message));
  if (name == "shrink_max_tokens_to") return taken(read_integer(value, target.shrink_max_tokens_to, message));
  if (name == "max_concurrency") return taken(read_integer(value, target.max_concurrency, message));
  if (name == "on_tool_error") return taken(read_on_tool_error(value, target, message));
  if (name == "on_unknown_tool") return taken(read_on_unknown_tool(value, target, message));
  if (name == "repeat_tool_choice") return taken(read_bool(value, target.repeat_tool_choice, message));
  if (name == "structured_finalize") return taken(read_bool(value, target.structured_finalize, message));
  if (name == "structured_finalize_nudge") return taken(read_text(value, target.structured_finalize_nudge, message));
  if (name == "stream") return taken(read_bool(value, target.stream, message));
  if (name == "emit_text_deltas") return taken(read_bool(value, target.emit_text_deltas, message));
  if (name == "emit_tool_deltas") return taken(read_bool(value, target.emit_tool_deltas, message));
  if (name == "emit_reasoning") return taken(read_bool(value, target.emit_reasoning, message));
  if (name == "include_raw_chunks") return taken(read_bool(value, target.include_raw_chunks, message));
  if (name == "session_id") return taken(read_text(value, target.session_id, message));
  if (name == "request_id") return taken(read_text(value, target.request_id, message));
  if (name == "traceparent") return taken(read_traceparent(value, target.traceparent, message));
  if (name == "context") {
    message = "must be an object";
    if (value.is_object()) target.context = value;
    return taken(value.is_object());
  }
  if (name == "model") {
    message = "must be a text";
    if (value.is_string()) target.model = ModelRef(value.get<std::string>());
    return taken(value.is_string());
  }
  if (value.is_null()) {
    WrongTypes unused;
    return read_request_option(name, nothing, scratch, unused) ? OptionRead::taken : OptionRead::unknown;
  }
  return read_request_option(name, value, options, wrong) ? OptionRead::taken : OptionRead::unknown;
}

ParamDefaults read_params(const Json& params) {
  ParamDefaults defaults;
  if (!params.is_object()) {
    defaults.errors.push_back({{std::string("params")}, "invalid_type"});
    defaults.message = "params must be an object";
    return defaults;
  }
  for (const auto& [name, value] : params.items()) {
    std::string message;
    const OptionRead read =
        is_filter(name) ? OptionRead::taken : read_option(name, value, defaults.options, defaults.wrong_types, message);
    if (read == OptionRead::taken) continue;
    if (read == OptionRead::unknown) {
      const std::optional<std::string> near_miss = refuse_near_option(name);
      if (!near_miss) {
        defaults.options.params[name] = value;
        continue;
      }
      message = *near_miss;
    }
    if (defaults.message.empty()) defaults.message = name + " " + message;
    defaults.errors.push_back({{name}, read == OptionRead::unknown ? "unknown_option" : "invalid_value"});
  }
  return defaults;
}

void check_provider_params(const Json& params, ParamDefaults& defaults) {
  if (!params.is_object()) {
    defaults.errors.push_back({{std::string("params")}, "invalid_type"});
    if (defaults.message.empty()) defaults.message = "params must be an object";
    return;
  }
  for (const auto& [name, value] : params.items()) {
    const std::optional<std::string> message = refuse_option_in_params(name);
    if (!message) continue;
    defaults.errors.push_back({{std::string("params"), name}, "unknown_option"});
    if (defaults.message.empty()) defaults.message = name + " " + *message;
  }
}

const CallOptions& default_options() {
  static const CallOptions& options = immortal<CallOptions>();
  return options;
}

Result<CallOptions> call_options_from_json(const Json& json) {
  const auto reject = [](std::vector<FieldError> errors, const std::string& message) {
    return std::unexpected(Error(ValidationError{ValidationError::Reason::invalid_option, std::move(errors)},
                                 "invalid option: " + message));
  };
  if (json.is_null()) return CallOptions{};
  if (!json.is_object()) return reject({{{}, "invalid_type"}}, "options must be an object");
  CallOptions options;
  WrongTypes wrong;
  std::vector<FieldError> errors;
  std::string messages;
  for (const auto& [name, value] : json.items()) {
    std::string message;
    const OptionRead read = read_option(name, value, options, wrong, message);
    if (read == OptionRead::taken) continue;
    if (read == OptionRead::unknown) message = refuse_near_option(name).value_or("is not an option");
    errors.push_back({{name}, read == OptionRead::unknown ? "unknown_option" : "invalid_value"});
    messages += (messages.empty() ? "" : "; ") + name + " " + message;
  }
  const auto reject_wrong = [&](bool bad, const char* name, const char* message) {
    if (!bad) return;
    errors.push_back({{std::string(name)}, "invalid_value"});
    messages += (messages.empty() ? "" : "; ") + std::string(name) + " " + message;
  };
  reject_wrong(wrong.bad_temperature, "temperature", "must be a number");
  reject_wrong(wrong.bad_max_tokens, "max_tokens", "must be an integer");
  reject_wrong(wrong.bad_prompt_cache, "prompt_cache", "must be true or {key, retention}");
  if (!errors.empty()) return reject(std::move(errors), messages);
  return options;
}

ToolErrorDecision ToolErrorDecision::continue_with(Json value) {
  ToolErrorDecision decision;
  decision.kind_ = Kind::continue_with;
  decision.value_ = std::move(value);
  return decision;
}

ToolErrorDecision ToolErrorDecision::tell_model() {
  ToolErrorDecision decision;
  decision.kind_ = Kind::tell_model;
  return decision;
}

ToolErrorDecision ToolErrorDecision::halt() {
  ToolErrorDecision decision;
  decision.kind_ = Kind::halt;
  return decision;
}

}  // namespace allm
