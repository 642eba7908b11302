// Anthropic's Messages API.
#include <set>

#include "tests/validators/request_rules.hpp"

namespace allm::testing {
namespace {

class AnthropicCheck {
 public:
  Problems run(const Json& body) {
    if (!check_.require(body.is_object(), "body", "is an object")) return check_.take();
    check_.require(is_text(member(body, "model")), "model", "is required");
    check_.require(member(body, "max_tokens").is_number_integer() && body["max_tokens"] >= 1, "max_tokens",
                   "is required");
    if (body.contains("system")) system(body["system"]);
    const Json& messages = member(body, "messages");
    if (!check_.require(messages.is_array() && !messages.empty(), "messages", "is a list that is not empty")) {
      return check_.take();
    }
    for (std::size_t i = 0; i < messages.size(); ++i) message(at("messages", i), messages[i]);
    check_.require(open_.empty(), "messages", "`tool_use` ids were found without `tool_result` blocks");
    check_.require(previous_ == "user", "messages", "the conversation must end with a user message");
    check_.require(known_.empty() || body.contains("tools"), "tools",
                   "requests which include `tool_use` or `tool_result` blocks must define tools");
    if (body.contains("tools")) tools(body["tools"]);
    check_.require(cache_marks(body) <= 4, "body", "A maximum of 4 blocks with cache_control may be provided");
    return check_.take();
  }

 private:
  static std::size_t cache_marks(const Json& value) {
    std::size_t marks = value.is_object() && value.contains("cache_control") ? 1 : 0;
    if (!value.is_structured()) return marks;
    for (const Json& element : value) marks += cache_marks(element);
    return marks;
  }

  void system(const Json& system) {
    if (system.is_string()) {
      check_.require(!is_blank(system.get_ref<const std::string&>()), "system", "is not empty");
      return;
    }
    check_.require(system.is_array() && !system.empty(), "system", "is text or blocks");
    for (const Json& block : system) text("system", block);
  }

  void message(const std::string& place, const Json& message) {
    const std::string role = text_of(message, "role");
    check_.require(has_only(message, {"role", "content"}), place, "Extra inputs are not permitted");
    check_.require(role != previous_ && (role == "user" || role == "assistant"), place, "the roles alternate");
    check_.require(!previous_.empty() || role == "user", place, "the first message is the user's");
    const Json& content = member(message, "content");
    const bool is_array = content.is_array() && !content.empty();
    if (!check_.require(is_array || is_text(content), place, "all messages must have non-empty content")) return;
    if (content.is_string()) {
      check_.require(!is_blank(content.get_ref<const std::string&>()), place, "text is not blank");
      check_.require(open_.empty(), place, "`tool_use` ids were found without `tool_result` blocks immediately after");
    } else {
      begins_ = true;
      for (std::size_t i = 0; i < content.size(); ++i) block(at(place, i), content[i], role);
      check_.require(role == "assistant" || open_.empty(), place,
                     "`tool_use` ids were found without `tool_result` blocks immediately after");
    }
    previous_ = role;
  }

  void block(const std::string& place, const Json& block, const std::string& role) {
    const std::string type = text_of(block, "type");
    if (type == "tool_result") {
      check_.require(role == "user" && begins_, place, "tool_result blocks come first in a user message");
      return result(place, block);
    }
    begins_ = false;
    if (type == "text") {
      text(place, block);
    } else if (type == "image") {
      check_.require(role == "user", place, "images are the user's");
      source(place, member(block, "source"));
    } else if (type == "document") {
      check_.require(role == "user", place, "documents are the user's");
    } else if (type == "tool_use") {
      check_.require(role == "assistant", place, "calls are the assistant's");
      call(place, block);
    } else if (type == "thinking") {
      check_.require(
          role == "assistant" && is_text(member(block, "signature")) && member(block, "thinking").is_string(), place,
          "thinking has text and signature");
      check_.require(!block.contains("cache_control"), place, "cache_control cannot be set for thinking blocks");
    } else if (type == "redacted_thinking") {
      check_.require(role == "assistant" && is_text(member(block, "data")), place, "has data");
    } else {
      check_.require(false, place, "no block has the type " + type);
    }
  }

  void text(const std::string& place, const Json& block) {
    const Json& words = member(block, "text");
    check_.require(words.is_string() && !is_blank(words.get_ref<const std::string&>()), place,
                   "text content blocks must be non-empty");
    check_.require(has_only(block, {"type", "text", "cache_control", "citations"}), place,
                   "Extra inputs are not permitted");
  }

  void source(const std::string& place, const Json& source) {
    const std::string type = text_of(source, "type");
    check_.require(
        (type == "base64" && is_text(member(source, "data")) && text_of(source, "media_type").starts_with("image/")) ||
            (type == "url" && is_data_uri_or_url(member(source, "url"))),
        place, "the source is base64 or url");
  }

  void call(const std::string& place, const Json& block) {
    check_.require(has_only(block, {"type", "id", "name", "input", "cache_control"}), place,
                   "Extra inputs are not permitted");
    const std::string id = text_of(block, "id");
    check_.require(is_word(id), place, "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$': " + id);
    check_.require(known_.insert(id).second, place, "`tool_use` ids must be unique: " + id);
    check_.require(is_tool_name(member(block, "name")), place, "the name matches ^[a-zA-Z0-9_-]{1,64}$");
    check_.require(member(block, "input").is_object(), place, "tool_use.input: Input should be a valid dictionary");
    open_.insert(id);
  }

  void result(const std::string& place, const Json& block) {
    check_.require(has_only(block, {"type", "tool_use_id", "content", "is_error", "cache_control"}), place,
                   "Extra inputs are not permitted");
    const std::string id = text_of(block, "tool_use_id");
    check_.require(open_.erase(id) == 1, place, "unexpected `tool_use_id` found in `tool_result` blocks: " + id);
    check_.require(!block.contains("is_error") || block["is_error"].is_boolean(), place, "is_error is a boolean");
    if (!block.contains("content") || block["content"].is_string()) return;
    check_.require(block["content"].is_array(), place, "the content is text or blocks");
    for (const Json& part : block["content"]) {
      if (text_of(part, "type") == "text") text(place, part);
    }
  }

  void tools(const Json& tools) {
    check_.require(tools.is_array() && !tools.empty(), "tools", "is a list that is not empty");
    for (std::size_t i = 0; i < tools.size(); ++i) {
      check_.require(is_tool_name(member(tools[i], "name")), at("tools", i), "has a name");
      check_.require(text_of(member(tools[i], "input_schema"), "type") == "object", at("tools", i),
                     "input_schema.type is object");
    }
  }

  RuleCheck check_;
  std::string previous_;
  bool begins_ = true;  // only results came so far in the message
  std::set<std::string> open_;
  std::set<std::string> known_;
};

}  // namespace

Problems anthropic_problems(const Json& body) { return AnthropicCheck().run(body); }

}  // namespace allm::testing
