#include "providers/gemini/contents.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/ascii.hpp"
#include "data/tool_errors.hpp"
#include "providers/call_ids.hpp"
#include "providers/content.hpp"
#include "providers/gemini/kept_parts.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::string_view kSkipValidation = "skip_thought_signature_validator";

class ContentWriter {
 public:
  // `marks_calls`: whether calls without a thought signature are marked, so that the provider does not refuse them.
  ContentWriter(const MessageList& messages, const std::vector<Tool>& tools, bool marks_calls,
                std::vector<SendableMedia> media)
      : messages_(messages), tools_(tools), marks_calls_(marks_calls), media_(std::move(media)) {}

  Result<Json> write() {
    for (std::size_t i = 0; i < messages_.size() && !error_; ++i) add(i);
    end_answers();
    if (error_) return std::unexpected(*std::move(error_));
    if (contents_.empty()) {
      return std::unexpected(validation_error(ValidationError::Reason::invalid_message, {std::string("messages")},
                                              "empty",
                                              "Gemini needs a message that is not empty besides the system's"));
    }
    return std::move(contents_);
  }

 private:
  void add(std::size_t index) {
    const Message& message = messages_[index];
    if (message.role == Role::system) return;
    if (message.role == Role::tool) {
      add_answer(index);
      return;
    }
    end_answers();
    if (message.role == Role::user) {
      append("user", user_parts(message.content));
      return;
    }
    Json parts = sendable_parts(message, tools_);
    if (marks_calls_) excuse(parts);
    append("model", std::move(parts));
    if (!message.tool_calls.empty()) begin_turn(message);
  }

  void begin_turn(const Message& message) {
    caller_ = &message;
    caller_ids_ = provider_ids(message);
    // Of calls with the same id, the first of the last message counts.
    for (const ToolCall& call : std::views::reverse(message.tool_calls)) calls_[call.id] = &call;
  }

  void append(std::string_view role, Json parts) {
    if (parts.empty()) return;
    // Everything that the model sent in one turn must be one content.
    if (role == "model" && !contents_.empty() && contents_.back()["role"] == role) {
      Json& before = contents_.back()["parts"];
      for (Json& part : parts) before.push_back(std::move(part));
      return;
    }
    contents_.push_back({{"role", role}, {"parts", std::move(parts)}});
  }

  Json user_parts(const Content& content) {
    Json parts = Json::array();
    if (!has_media(content)) {
      if (std::string text = joined_text(content); !text.empty()) parts.push_back({{"text", std::move(text)}});
      return parts;
    }
    for (const Part& part : std::get<std::vector<Part>>(content)) {
      if (const auto* text = std::get_if<TextPart>(&part)) {
        if (!text->text.empty()) parts.push_back({{"text", text->text}});
      } else {
        parts.push_back(media_part());
      }
    }
    return parts;
  }

  Json media_part() {
    SendableMedia& media = media_[next_media_++];
    if (media.url.empty() && media.file_id.empty()) {
      return {{"inlineData", {{"mimeType", std::move(media.mime_type)}, {"data", std::move(media.base64)}}}};
    }
    Json file = {{"fileUri", media.url.empty() ? std::move(media.file_id) : std::move(media.url)}};
    if (!media.mime_type.empty()) file["mimeType"] = std::move(media.mime_type);
    return {{"fileData", std::move(file)}};
  }

  // The call with that id, in the turn that is being answered or else in any earlier turn.
  const ToolCall* find_call(std::string_view id) const {
    const auto found = calls_.find(id);
    return found == calls_.end() ? nullptr : found->second;
  }

  void add_answer(std::size_t index) {
    const Message& message = messages_[index];
    const std::string id = message.tool_call_id.value_or("");
    const ToolCall* call = find_call(id);
    const std::string name = call != nullptr ? call->name : message.name.value_or("");
    if (call == nullptr && name.empty()) {
      error_ = validation_error(
          ValidationError::Reason::invalid_message,
          {std::string("messages"), static_cast<std::int64_t>(index), std::string("tool_call_id")}, "unknown_tool_call",
          "Gemini needs the name of the tool, but no earlier message has a call '" + id + "'");
      return;
    }
    Json response = {{"name", sendable_tool_name(name, tools_)}};
    if (caller_ids_.contains(id)) response["id"] = id;
    response["response"] = result_object(joined_text(message.content), is_failed_result(message));
    if (has_media(message.content)) response["parts"] = answer_parts(std::get<std::vector<Part>>(message.content));
    answers_.emplace(place_of(call), Json{{"functionResponse", std::move(response)}});
  }

  Json answer_parts(const std::vector<Part>& content) {
    Json parts = Json::array();
    for (const Part& part : content) {
      if (!std::holds_alternative<TextPart>(part)) parts.push_back(media_part());
    }
    return parts;
  }

  std::size_t place_of(const ToolCall* call) const {
    if (caller_ == nullptr || call == nullptr || caller_->tool_calls.empty()) return answers_.size();
    const ToolCall* first = caller_->tool_calls.data();
    const bool of_turn = std::greater_equal<>()(call, first) && std::less<>()(call, first + caller_->tool_calls.size());
    return of_turn ? static_cast<std::size_t>(call - first) : caller_->tool_calls.size();
  }

  // The member `error` tells the model that the call failed.
  static Json result_object(const std::string& text, bool failed) {
    if (text.starts_with('{')) {
      std::optional<Json> value = parse_provider_json(text);
      if (value && value->is_object() && (!failed || value->contains("error"))) return *std::move(value);
    }
    return {{failed ? "error" : "output", text}};
  }

  void end_answers() {
    if (answers_.empty()) return;
    Json parts = Json::array();
    for (auto& [place, part] : answers_) parts.push_back(std::move(part));
    answers_.clear();
    append("user", std::move(parts));
  }

  static void excuse(Json& parts) {
    const auto is_call = [](const Json& part) { return find_member(part, "functionCall") != nullptr; };
    const auto first = std::ranges::find_if(parts, is_call);
    if (first != parts.end() && !first->contains("thoughtSignature")) (*first)["thoughtSignature"] = kSkipValidation;
  }

  const MessageList& messages_;
  const std::vector<Tool>& tools_;
  const bool marks_calls_;
  std::vector<SendableMedia> media_;
  std::size_t next_media_ = 0;
  Json contents_ = Json::array();
  const Message* caller_ = nullptr;  // the last message with calls
  ProviderIds caller_ids_;
  std::unordered_map<std::string_view, const ToolCall*> calls_;  // of the messages so far, by their ids
  // Answers to its calls that are not written yet, by the index of the call: without ids the provider matches answers
  // to calls by their order.
  std::multimap<std::size_t, Json> answers_;
  std::optional<Error> error_;
};

// Gemini 3 and later: tool results may contain media, and calls need thought signatures.
bool is_gemini_3(std::string_view model) {
  constexpr std::string_view kFamily = "gemini-";
  const std::size_t at = model.find(kFamily);
  if (at == std::string_view::npos) return false;
  const std::string_view version = model.substr(at + kFamily.size());
  if (version.empty() || !is_digit(version[0])) return false;
  return version[0] >= '3' || (version.size() > 1 && is_digit(version[1]));
}

}  // namespace

Result<Json> gemini_contents(const MessageList& messages, const GeminiCodecOptions& options, std::string_view model,
                             const std::vector<Tool>& tools) {
  const bool media_results = is_gemini_3(model);
  const ContentRules rules = {.provider = kGemini,
                              .user = {.images = true, .files = true, .audio = true},
                              .tool = {.images = media_results, .files = media_results, .audio = media_results},
                              .image_urls = options.fetch_image_urls,
                              .file_urls = options.fetch_image_urls,
                              .audio_urls = options.fetch_image_urls,
                              .https_only = true,
                              .url_advice = "send the bytes, or set fetch_image_urls if the model fetches https URLs",
                              .file_ids = true};
  Result<std::vector<SendableMedia>> media = sendable_media(messages, rules);
  if (!media) return std::unexpected(std::move(media).error());
  // All such calls are marked, not only those of the current turn, which are the ones that the provider checks: a mark
  // that goes away in the next turn would change the cached prompt prefix.
  const bool marks_calls = options.excuse_missing_signatures || is_gemini_3(model);
  return ContentWriter(messages, tools, marks_calls, *std::move(media)).write();
}

}  // namespace allm
