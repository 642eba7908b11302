#include "providers/call_settings.hpp"

#include <utility>

#include "engine/own_options.hpp"
#include "providers/content.hpp"
#include "providers/provider_errors.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr const char* kStream = "stream";

void collect(Json& settings, const Json& values) {
  if (!values.is_object()) return;
  for (const auto& [name, value] : values.items()) {
    if (!is_own_option(name) && name != kStream) settings[name] = value;
  }
}

}  // namespace

Result<std::string> called_model(const AdapterCall& call, std::string_view provider) {
  const std::optional<ModelRef>& model = call.model ? call.model : call.request.model;
  if (model && !model->id.empty()) return model->id;
  return std::unexpected(
      Error(EngineError{.reason = EngineError::Reason::missing_model, .provider = std::string(provider)},
            "no model is named: set one on the engine, the request or the call"));
}

Json provider_settings(const AdapterCall& call) {
  Json settings = Json::object();
  collect(settings, call.request.options);
  collect(settings, call.options);
  return settings;
}

Json take_setting(Json& settings, std::string_view name) {
  const auto found = settings.find(name);
  if (found == settings.end()) return nullptr;
  Json value = std::move(*found);
  settings.erase(found);
  return value;
}

Json as_list(Json value) { return value.is_array() ? std::move(value) : Json::array({std::move(value)}); }

void overlay_settings(Json& body, const Json& settings) {
  for (const auto& [name, value] : settings.items()) {
    if (value.is_null()) {
      body.erase(name);
    } else {
      body[name] = value;
    }
  }
}

std::string system_text(const MessageList& messages) {
  std::string joined;
  for (const Message& message : messages) {
    if (message.role != Role::system) continue;
    const std::string text = joined_text(message.content);
    if (text.empty()) continue;
    if (!joined.empty()) joined += "\n\n";
    joined += text;
  }
  return joined;
}

std::string joined_url(std::string_view base, std::string_view path) {
  while (base.ends_with('/')) base.remove_suffix(1);
  return std::string(base) + "/" + std::string(path);
}

Error unsupported_feature(std::string_view provider, std::string message) {
  return Error(AdapterError{.reason = AdapterError::Reason::unsupported_feature, .provider = std::string(provider)},
               std::move(message));
}

AnswerForm answer_form(const AdapterCall& call) {
  bool stream = call.request.stream;
  for (const Json* options : {&call.request.options, &call.options}) {
    const Json* param = find_member(*options, kStream);
    if (param != nullptr && param->is_boolean()) stream = param->get<bool>();
  }
  return stream ? AnswerForm::stream : AnswerForm::whole;
}

bool is_whole_response(const HttpResponseHead& head, AnswerForm asked_for) {
  const std::string* type = find_header(head.headers, "content-type");
  if (type != nullptr && contains_word(*type, "event-stream")) return false;
  return asked_for == AnswerForm::whole || (type != nullptr && contains_word(*type, "json"));
}

}  // namespace allm
