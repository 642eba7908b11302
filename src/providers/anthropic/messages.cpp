#include "providers/anthropic/messages.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "data/base64.hpp"
#include "data/tool_errors.hpp"
#include "providers/anthropic/anthropic.hpp"
#include "providers/anthropic/kept_blocks.hpp"
#include "providers/call_ids.hpp"
#include "providers/content.hpp"
#include "providers/provider_json.hpp"

namespace allm {
namespace {

// The provider refuses text that is empty or only white space.
bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

bool is_blank_text(const Json& block) {
  return text_member(block, "type") == "text" && is_blank(text_member(block, "text"));
}

// Members that the caller added to a part under the provider's name.
const Json* additions(const Json& metadata) {
  const Json* own = find_member(metadata, "anthropic");
  return own != nullptr && own->is_object() && !own->empty() ? own : nullptr;
}

void add_members(Json& block, const Json* members) {
  if (members != nullptr) block.update(*members);
}

bool has_additions(const Part& part) {
  const auto* text = std::get_if<TextPart>(&part);
  return text != nullptr && additions(text->metadata) != nullptr;
}

// Whether the content can be sent as one text.
bool is_plain(const Content& content) {
  const auto* parts = std::get_if<std::vector<Part>>(&content);
  return parts == nullptr || (!has_media(content) && std::ranges::none_of(*parts, has_additions));
}

constexpr ContentRules kRules = {
    .provider = kAnthropic,
    .user = {.images = true, .files = true},
    .tool = {.images = true, .files = true},
    .file_urls = true,
    .file_ids = true,
    .takes_file = [](std::string_view mime_type) { return is_pdf(mime_type) || is_text(mime_type); }};

class TurnWriter {
 public:
  TurnWriter(std::vector<SendableMedia> media, const std::vector<Tool>& tools)
      : media_(std::move(media)), calls_(CallIdRule::word_up_to_64, tools) {}

  void add(const Message& message) {
    const std::string_view role = message.role == Role::assistant ? "assistant" : "user";
    if (role != role_) end_turn();
    role_ = role;
    if (message.role == Role::tool) {
      results_.push_back(tool_result_block(message));
    } else if (message.role == Role::assistant) {
      const Json* kept = kept_blocks(message);
      append(with_sent_calls(kept != nullptr ? *kept : plain_blocks(message)));
    } else {
      append(content_blocks(message.content));
    }
  }

  Json take() {
    end_turn();
    return std::move(turns_);
  }

 private:
  void append(const Json& blocks) {
    for (const Json& block : blocks) {
      if (!is_blank_text(block)) blocks_.push_back(block);
    }
  }

  Json with_sent_calls(Json blocks) {
    for (Json& block : blocks) {
      if (text_member(block, "type") != "tool_use") continue;
      const SentCall& call = calls_.add(text_member(block, "id"), text_member(block, "name"));
      block["id"] = call.id;
      block["name"] = call.name;
    }
    return blocks;
  }

  Json tool_result_block(const Message& message) {
    Json block = {{"type", "tool_result"}, {"tool_use_id", calls_.answered(message.tool_call_id.value_or("")).id}};
    if (is_plain(message.content)) {
      if (std::string text = joined_text(message.content); !text.empty()) block["content"] = std::move(text);
    } else {
      block["content"] = content_blocks(message.content);
    }
    if (is_failed_result(message)) block["is_error"] = true;
    add_members(block, additions(message.metadata));
    return block;
  }

  Json content_blocks(const Content& content) {
    Json blocks = Json::array();
    if (is_plain(content)) {
      blocks.push_back({{"type", "text"}, {"text", joined_text(content)}});
      return blocks;
    }
    for (const Part& part : std::get<std::vector<Part>>(content)) {
      if (const auto* text = std::get_if<TextPart>(&part)) {
        if (is_blank(text->text)) continue;
        blocks.push_back({{"type", "text"}, {"text", text->text}});
        add_members(blocks.back(), additions(text->metadata));
      } else if (const auto* image = std::get_if<ImagePart>(&part)) {
        blocks.push_back(image_block());
        add_members(blocks.back(), additions(image->metadata));
      } else if (const auto* file = std::get_if<FilePart>(&part)) {
        blocks.push_back(document_block());
        add_members(blocks.back(), additions(file->metadata));
      }
    }
    return blocks;
  }

  Json image_block() {
    SendableMedia& image = media_[next_media_++];
    if (!image.url.empty()) return {{"type", "image"}, {"source", {{"type", "url"}, {"url", std::move(image.url)}}}};
    return {{"type", "image"},
            {"source",
             {{"type", "base64"}, {"media_type", std::move(image.mime_type)}, {"data", std::move(image.base64)}}}};
  }

  Json document_block() {
    SendableMedia& file = media_[next_media_++];
    Json source;
    if (!file.file_id.empty()) {
      source = {{"type", "file"}, {"file_id", std::move(file.file_id)}};
    } else if (!file.url.empty()) {
      source = {{"type", "url"}, {"url", std::move(file.url)}};
    } else if (is_pdf(file.mime_type)) {
      source = {{"type", "base64"}, {"media_type", std::move(file.mime_type)}, {"data", std::move(file.base64)}};
    } else {
      // The provider accepts no other type for text.
      source = {{"type", "text"}, {"media_type", "text/plain"}, {"data", base64_decode(file.base64).value_or("")}};
    }
    Json block = {{"type", "document"}, {"source", std::move(source)}};
    if (!file.name.empty()) block["title"] = std::move(file.name);
    return block;
  }

  void end_turn() {
    std::vector<Json> blocks = std::exchange(results_, {});
    std::ranges::move(std::exchange(blocks_, {}), std::back_inserter(blocks));
    if (blocks.empty()) return;
    Json& turn = turns_.emplace_back(Json{{"role", role_}});
    // A single text is sent as a string, which is easier to read in a log.
    if (blocks.size() == 1 && blocks[0].size() == 2 && text_member(blocks[0], "type") == "text") {
      turn["content"] = std::move(blocks[0]["text"]);
    } else {
      turn["content"] = std::move(blocks);
    }
    if (turns_.size() >= 2 && turns_[turns_.size() - 2]["role"] == role_) join_last_two();
  }

  // Called if the turn between the last two was empty.
  void join_last_two() {
    Json last = as_blocks(std::move(turns_.back()["content"]));
    turns_.erase(turns_.size() - 1);
    Json& content = turns_.back()["content"];
    content = as_blocks(std::move(content));
    for (Json& block : last) content.push_back(std::move(block));
  }

  static Json as_blocks(Json content) {
    if (content.is_array()) return content;
    return Json::array({{{"type", "text"}, {"text", std::move(content)}}});
  }

  std::vector<SendableMedia> media_;
  std::size_t next_media_ = 0;
  SentCalls calls_;
  std::string_view role_ = "user";
  std::vector<Json> results_;
  std::vector<Json> blocks_;
  Json turns_ = Json::array();
};

}  // namespace

Result<Json> anthropic_messages(const MessageList& messages, const std::vector<Tool>& tools) {
  Result<std::vector<SendableMedia>> media = sendable_media(messages, kRules);
  if (!media) return std::unexpected(std::move(media).error());
  TurnWriter writer(*std::move(media), tools);
  for (const Message& message : messages) {
    if (message.role == Role::system) continue;
    writer.add(message);
  }
  Json turns = writer.take();
  if (turns.empty()) {
    return std::unexpected(
        validation_error(ValidationError::Reason::invalid_message, {std::string("messages")}, "empty",
                         "Anthropic needs a message that is not empty besides the system's: add one"));
  }
  return turns;
}

}  // namespace allm
