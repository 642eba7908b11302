// Chat Completions: the rules of OpenAI's reference, and those of compatible servers (for Mistral, the validator of
// its public tokenizer library; for DeepSeek, its guide to the thinking mode; for others, their error messages).
#include <algorithm>
#include <set>

#include "tests/validators/request_rules.hpp"

namespace allm::testing {
namespace {

class ChatCheck {
 public:
  explicit ChatCheck(const ChatRules& rules) : rules_(rules) {}

  Problems run(const Json& body) {
    if (!check_.require(body.is_object(), "body", "is an object")) return check_.take();
    check_.require(!rules_.needs_model || (body.contains("model") && is_text(body["model"])), "model", "is required");
    check_.require(!rules_.refuses_unknown_fields || !body.contains("stream_options"), "stream_options", "is refused");
    const Json& messages = member(body, "messages");
    if (!check_.require(messages.is_array() && !messages.empty(), "messages", "is a list that is not empty")) {
      return check_.take();
    }
    for (std::size_t i = 0; i < messages.size(); ++i) message(at("messages", i), messages[i]);
    check_.require(open_.empty(), "messages", "every call is answered");
    check_.require(previous_ == "user" || previous_ == "tool", "messages", "the last role is user or tool");
    if (body.contains("tools")) tools(body["tools"]);
    return check_.take();
  }

 private:
  void message(const std::string& place, const Json& message) {
    const std::string role = text_of(message, "role");
    check_.require(open_.empty() || role == "tool", place, "every call is answered directly after its message");
    if (rules_.answer_follows_tools) {
      check_.require(previous_ != "tool" || role == "tool" || role == "assistant", place,
                     "after role tool comes tool or assistant, not " + role);
      check_.require(previous_ != "assistant" || role != "system", place, "system does not follow assistant");
    }
    if (role == "assistant") {
      assistant(place, message);
    } else if (role == "tool") {
      tool(place, message);
    } else {
      check_.require(role == "user" || role == "system", place, "the role is system, user, assistant or tool");
      check_.require(has_only(message, {"role", "content", "name"}), place, "has no unknown members");
      content(place + ".content", member(message, "content"), role == "user");
    }
    previous_ = role;
  }

  void content(const std::string& place, const Json& content, bool of_user) {
    if (content.is_string()) return;
    if (!check_.require(of_user && content.is_array() && !content.empty(), place, "is text, or parts of a user"))
      return;
    for (std::size_t i = 0; i < content.size(); ++i) part(at(place, i), content[i]);
  }

  void part(const std::string& place, const Json& part) {
    const std::string type = text_of(part, "type");
    if (type == "text") {
      check_.require(part.contains("text") && is_text(part["text"]), place, "text is not empty");
    } else if (type == "image_url") {
      const Json& image = member(part, "image_url");
      check_.require(image.is_object() && image.contains("url") && is_data_uri_or_url(image["url"]), place,
                     "image_url.url is a URL");
    } else if (type == "input_audio") {
      check_.require(rules_.audio_parts, place, "audio is not accepted");
    } else {
      check_.require(!type.empty() && type == rules_.file_part, place, "parts of type " + type + " are not accepted");
    }
  }

  void assistant(const std::string& place, const Json& message) {
    check_.require(
        has_only(message, {"role", "content", "name", "tool_calls", "reasoning_content", "reasoning_details"}), place,
        "has no unknown members");
    const bool calls = message.contains("tool_calls");
    const Json& content = member(message, "content");
    check_.require(calls || is_text(content), place, "has content or tool_calls");
    check_.require(content.is_string() || (calls && content.is_null() && !rules_.refuses_null_content), place,
                   "the content is text");
    check_.require(!rules_.needs_reasoning_content || message.contains("reasoning_content"), place,
                   "reasoning_content must be passed back");
    check_.require(!rules_.refuses_unknown_fields ||
                       (!message.contains("reasoning_content") && !message.contains("reasoning_details")),
                   place, "unknown fields are refused");
    if (!calls) return;
    const Json& list = message["tool_calls"];
    if (!check_.require(list.is_array() && !list.empty(), place + ".tool_calls", "is a list that is not empty")) return;
    for (std::size_t i = 0; i < list.size(); ++i) call(at(place + ".tool_calls", i), list[i]);
  }

  void call(const std::string& place, const Json& call) {
    check_.require(has_only(call, {"id", "type", "function", "extra_content"}), place, "has no unknown members");
    check_.require(text_of(call, "type") == "function", place, "the type is function");
    const Json& function = member(call, "function");
    check_.require(is_tool_name(member(function, "name")), place, "the name matches ^[a-zA-Z0-9_-]{1,64}$");
    const Json& arguments = member(function, "arguments");
    check_.require(arguments.is_string(), place, "the arguments are text");
    check_.require(!rules_.parses_arguments || is_json_object_text(arguments), place,
                   "the arguments are the text of a JSON object, not " + arguments.dump());
    const std::string id = text_of(call, "id");
    check_id(place, id);
    check_.require(known_.insert(id).second, place, "the id '" + id + "' is unique");
    open_.insert(id);
  }

  void check_id(const std::string& place, const std::string& id) {
    check_.require(!id.empty() && id.size() <= rules_.max_id_bytes, place, "the id '" + id + "' is too long or empty");
    check_.require(!rules_.word_ids || is_word(id), place, "the id '" + id + "' matches ^[a-zA-Z0-9_-]+$");
    const bool nine = id.size() == 9 && is_word(id) && id.find_first_of("_-") == std::string::npos;
    check_.require(!rules_.nine_letter_ids || nine, place, "the id '" + id + "' matches ^[a-zA-Z0-9]{9}$");
  }

  void tool(const std::string& place, const Json& message) {
    check_.require(has_only(message, {"role", "content", "tool_call_id", "name"}), place, "has no unknown members");
    check_.require(member(message, "content").is_string(), place, "the content is text");
    check_.require(!message.contains("name") || is_tool_name(message["name"]), place,
                   "the name matches ^[a-zA-Z0-9_-]{1,64}$");
    const std::string id = text_of(message, "tool_call_id");
    check_.require(open_.erase(id) == 1, place, "'" + id + "' is a call of the message before");
  }

  void tools(const Json& tools) {
    if (!check_.require(tools.is_array() && !tools.empty(), "tools", "is a list that is not empty")) return;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      const Json& function = member(tools[i], "function");
      check_.require(text_of(tools[i], "type") == "function", at("tools", i), "the type is function");
      check_.require(is_tool_name(member(function, "name")), at("tools", i), "has a name");
      check_.require(member(function, "parameters").is_object(), at("tools", i), "has parameters");
    }
  }

  const ChatRules& rules_;
  RuleCheck check_;
  std::string previous_;
  std::set<std::string> open_;   // calls of the last assistant message without an answer
  std::set<std::string> known_;  // all ids
};

}  // namespace

Problems chat_problems(const Json& body, const ChatRules& rules) { return ChatCheck(rules).run(body); }

}  // namespace allm::testing
