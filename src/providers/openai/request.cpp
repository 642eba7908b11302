#include "providers/openai/request.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "data/ascii.hpp"
#include "data/immortal.hpp"
#include "providers/call_settings.hpp"
#include "providers/provider_json.hpp"
#include "providers/refused_settings.hpp"

namespace allm::openai_wire {
namespace {

// allm's names, which are translated and not sent as they are.
constexpr std::array<std::string_view, 4> kReadByName = {"reasoning_effort", "reasoning_summary", "verbosity",
                                                         "endpoint"};

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view host_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find_first_of("/?:"));
}

}  // namespace

Result<Endpoint> endpoint_of(const AdapterCall& call, const OpenAiCodecOptions& options) {
  Endpoint endpoint = options.endpoint;
  if (const Json* option = option_of(call, "endpoint")) {
    if (*option == "auto") {
      endpoint = Endpoint::automatic;
    } else if (*option == "chat" || *option == "chat_completions") {
      endpoint = Endpoint::chat;
    } else if (*option == "responses") {
      endpoint = Endpoint::responses;
    } else {
      return std::unexpected(validation_error(ValidationError::Reason::invalid_option, {std::string("endpoint")},
                                              "invalid_value",
                                              R"(invalid option: endpoint must be "auto", "chat" or "responses")"));
    }
  }
  if (endpoint != Endpoint::automatic) return endpoint;
  const bool at_openai = host_of(options.base_url) == "api.openai.com";
  return at_openai && family_of(model_of(call)).on_responses ? Endpoint::responses : Endpoint::chat;
}

std::string url_of(std::string_view base_url, std::string_view path) {
  const std::size_t query = std::min(base_url.find('?'), base_url.size());
  std::string url(base_url.substr(0, query));
  if (url.ends_with('/')) url.pop_back();
  url += path;
  url += base_url.substr(query);
  return url;
}

std::string_view model_of(const AdapterCall& call) {
  if (call.model) return call.model->id;
  return call.request.model ? std::string_view(call.request.model->id) : std::string_view();
}

const Json* option_of(const AdapterCall& call, std::string_view name) {
  if (const Json* option = find_member(call.options, name)) return option;
  return find_member(call.request.options, name);
}

void add_raw_options(const AdapterCall& call, const OpenAiCodecOptions& options,
                     std::span<const std::string_view> merged, Json& body) {
  Json settings = provider_settings(call);
  for (auto& [name, value] : settings.items()) {
    if (holds(kReadByName, name)) continue;
    if (name == "parallel_tool_calls" && (!body.contains("tools") || !options.quirks.parallel_flag)) continue;
    if (value.is_null()) {
      body.erase(name);
    } else if (holds(merged, name) && value.is_object() && body.contains(name) && body[name].is_object()) {
      body[name].update(value);
    } else {
      body[name] = std::move(value);
    }
  }
  leave_out_refused(call, options.quirks.models_of_openai ? "openai" : options.provider, body);
}

CallIdRule chat_id_rule(const OpenAiQuirks& quirks, std::string_view model) {
  switch (quirks.tool_ids) {
    case OpenAiQuirks::ToolIds::up_to_40:
      return CallIdRule::up_to_40;
    case OpenAiQuirks::ToolIds::nine_alphanumerics:
      return CallIdRule::nine_alphanumerics;
    case OpenAiQuirks::ToolIds::by_model:
      break;
  }
  if (is_mistral_model(model)) return CallIdRule::nine_alphanumerics;
  return is_claude_model(model) ? CallIdRule::word_up_to_40 : CallIdRule::up_to_40;
}

bool refuses_user_after_tool(const OpenAiQuirks& quirks, std::string_view model) {
  return chat_id_rule(quirks, model) == CallIdRule::nine_alphanumerics;
}

Result<std::string> arguments_text(const ToolCall& call) {
  if (call.raw_arguments && call.raw_arguments->find_first_not_of(" \t\r\n") != std::string::npos) {
    return *call.raw_arguments;
  }
  return write_json(call.arguments.is_null() ? Json::object() : call.arguments);
}

Result<std::string> json_arguments_text(const ToolCall& call) {
  const bool may_be_wrong = call.raw_arguments && !call.raw_arguments->empty() && call.arguments.empty();
  if (may_be_wrong) {
    const std::optional<Json> value = parse_provider_json(*call.raw_arguments);
    if (!value || !value->is_object()) return "{}";
  }
  return arguments_text(call);
}

const Json& parameters_of(const Tool& tool) {
  static const Json& none = immortal<Json>(Json{{"type", "object"}, {"properties", Json::object()}});
  return tool.schema.is_object() && !tool.schema.empty() ? tool.schema : none;
}

ContentRules chat_rules(const OpenAiCodecOptions& options) {
  const bool takes_files = options.quirks.files != OpenAiQuirks::Files::none;
  const bool by_url = options.quirks.files == OpenAiQuirks::Files::document_url;
  const bool takes_audio = options.quirks.audio != OpenAiQuirks::Audio::none;
  return {.provider = options.provider,
          .user = {.images = true, .files = takes_files, .audio = takes_audio},
          .file_urls = by_url,
          .file_ids = takes_files && !by_url,
          .takes_audio = [](std::string_view mime_type) { return !audio_format_of(mime_type).empty(); }};
}

ContentRules responses_rules(const OpenAiCodecOptions& options) {
  return {.provider = options.provider,
          .user = {.images = true, .files = true},
          .tool = {.images = true, .files = true},
          .file_urls = true,
          .file_ids = true};
}

std::string file_name_of(const SendableMedia& file) {
  if (!file.name.empty()) return file.name;
  return is_pdf(file.mime_type) ? "document.pdf" : "document";
}

std::string_view audio_format_of(std::string_view mime_type) {
  if (mime_type == "audio/wav" || mime_type == "audio/x-wav" || mime_type == "audio/wave") return "wav";
  if (mime_type == "audio/mpeg" || mime_type == "audio/mp3") return "mp3";
  return {};
}

}  // namespace allm::openai_wire
