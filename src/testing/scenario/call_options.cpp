#include "testing/scenario/call_options.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "data/path.hpp"

namespace allm::scenario {
namespace {

std::unexpected<Error> invalid(Path path, std::string field_reason, const std::string& what) {
  std::string message = fmt::format("option {}: {}", to_string(path), what);
  return std::unexpected(validation_error(ValidationError::Reason::invalid_option, std::move(path),
                                          std::move(field_reason), std::move(message)));
}

// The one key of a form and its value.
struct NamedForm {
  const std::string& name;
  const Json& value;
};

Result<NamedForm> one_key(const Json& form, const Path& path) {
  if (!form.is_object() || form.size() != 1) return invalid(path, "invalid_value", "expected an object with one key");
  return NamedForm{form.begin().key(), form.begin().value()};
}

Result<ToolErrorFunction> error_function(const Json& json, const Path& path);

Result<ToolErrorFunction> by_tool(const Json& forms, const Path& path) {
  if (!forms.is_object()) return invalid(path, "invalid_value", "expected an object of forms by the tools' names");
  std::unordered_map<std::string, ToolErrorFunction> functions;
  for (const auto& [tool, form] : forms.items()) {
    auto function = error_function(form, extended(path, tool));
    if (!function) return std::unexpected(std::move(function.error()));
    functions.emplace(tool, *std::move(function));
  }
  return [functions = std::move(functions)](const ToolCall& call, const ToolFailure& failed) {
    const auto found = functions.find(call.name);
    return found == functions.end() ? ToolErrorDecision() : found->second(call, failed);
  };
}

Result<ToolErrorFunction> error_function(const Json& json, const Path& path) {
  if (json == "continue") {
    return [](const ToolCall&, const ToolFailure& failed) {
      // The same text that the model gets without a function.
      return ToolErrorDecision::continue_with(JsonToolResultEncoder().encode_failure(failed));
    };
  }
  if (json == "halt") return [](const ToolCall&, const ToolFailure&) { return ToolErrorDecision::halt(); };
  const Result<NamedForm> form = one_key(json, path);
  if (!form) return std::unexpected(form.error());
  const Path value_path = extended(path, form->name);
  if (form->name == "continue_with") {
    return
        [value = form->value](const ToolCall&, const ToolFailure&) { return ToolErrorDecision::continue_with(value); };
  }
  if (form->name == "return") {
    const bool halts = form->value == "halt";
    return [halts](const ToolCall&, const ToolFailure&) {
      return halts ? ToolErrorDecision::halt() : ToolErrorDecision();
    };
  }
  if (form->name == "raise") {
    if (!form->value.is_string()) return invalid(value_path, "invalid_value", "expected a text");
    return [text = form->value.get<std::string>()](const ToolCall&, const ToolFailure&) -> ToolErrorDecision {
      throw std::runtime_error(text);
    };
  }
  if (form->name == "by_tool") return by_tool(form->value, value_path);
  return invalid(value_path, "unknown_form", "known forms are continue_with, return, raise and by_tool");
}

using HaltWhen = std::function<bool(const StepResult&)>;

Result<HaltWhen> halt_function(const Json& json) {
  const Path path = {"halt_when"};
  const Result<NamedForm> form = one_key(json, path);
  if (!form) return std::unexpected(form.error());
  const Path value_path = extended(path, form->name);
  const Json& value = form->value;
  if (form->name == "always") {
    if (!value.is_boolean()) return invalid(value_path, "invalid_value", "expected true or false");
    return [answer = value.get<bool>()](const StepResult&) { return answer; };
  }
  if (form->name == "text_contains") {
    if (!value.is_string()) return invalid(value_path, "invalid_value", "expected a text");
    return [needle = value.get<std::string>()](const StepResult& step) {
      return step.response.text().value_or("").find(needle) != std::string::npos;
    };
  }
  if (form->name == "step_at_least") {
    if (!value.is_number_integer() || value < 1) {
      return invalid(value_path, "invalid_value", "expected a whole number from 1");
    }
    // The loop calls the function after every step that does not end the run, so calls are steps.
    return [least = value.get<std::uint64_t>(), steps = std::make_shared<std::uint64_t>(0)](const StepResult&) {
      return ++*steps >= least;
    };
  }
  if (form->name == "raise") {
    if (!value.is_string()) return invalid(value_path, "invalid_value", "expected a text");
    return [text = value.get<std::string>()](const StepResult&) -> bool { throw std::runtime_error(text); };
  }
  return invalid(value_path, "unknown_form", "known forms are always, text_contains, step_at_least and raise");
}

// Removes the member from the object and returns it; null if it is missing or null.
Json take(Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return nullptr;
  Json value = std::move(*found);
  object.erase(found);
  return value;
}

}  // namespace

Result<CallOptions> make_call_options(const Json& defaults, const Json& own) {
  Json merged = defaults;
  for (const auto& [key, value] : own.items()) merged[key] = value;

  Json on_tool_error = nullptr;
  const auto policy = merged.find("on_tool_error");
  if (policy != merged.end() && policy->is_object()) on_tool_error = take(merged, "on_tool_error");
  const Json halt_when = take(merged, "halt_when");

  Result<CallOptions> options = call_options_from_json(merged);
  if (!options) return options;
  if (on_tool_error.is_object()) {
    auto function = error_function(on_tool_error, {"on_tool_error"});
    if (!function) return std::unexpected(std::move(function.error()));
    options->on_tool_error = *std::move(function);
  }
  if (!halt_when.is_null()) {
    auto function = halt_function(halt_when);
    if (!function) return std::unexpected(std::move(function.error()));
    options->halt_when = *std::move(function);
  }
  return options;
}

}  // namespace allm::scenario
