// Google's generateContent.
#include <vector>

#include "tests/validators/request_rules.hpp"

namespace allm::testing {
namespace {

class GeminiCheck {
 public:
  explicit GeminiCheck(bool checks_signatures) : checks_signatures_(checks_signatures) {}

  Problems run(const Json& body) {
    if (!check_.require(body.is_object(), "body", "is an object")) return check_.take();
    const Json& contents = member(body, "contents");
    if (!check_.require(contents.is_array() && !contents.empty(), "contents", "is a list that is not empty")) {
      return check_.take();
    }
    const std::size_t turn = checks_signatures_ ? current_turn(contents) : contents.size();
    for (std::size_t i = 0; i < contents.size(); ++i) content(at("contents", i), contents[i], i >= turn);
    check_.require(open_.empty(), "contents", "every function call has a function response");
    check_.require(previous_ == "user", "contents", "end with the user");
    if (body.contains("tools")) tools(body["tools"]);
    return check_.take();
  }

 private:
  // The index of the last content in which the user says something.
  static std::size_t current_turn(const Json& contents) {
    for (std::size_t i = contents.size(); i-- > 0;) {
      if (text_of(contents[i], "role") != "user") continue;
      for (const Json& part : member(contents[i], "parts")) {
        if (!part.contains("functionResponse")) return i;
      }
    }
    return 0;
  }

  void content(const std::string& place, const Json& content, bool in_current_turn) {
    const std::string role = text_of(content, "role");
    check_.require(has_only(content, {"role", "parts"}), place, "Unknown name");
    check_.require(role == "user" || role == "model", place, "Please use a valid role: user, model");
    check_.require(!previous_.empty() || role == "user", place, "the first content is the user's");
    check_.require(role != "model" || previous_ != "model", place,
                   "function call turn comes immediately after a user turn or after a function response turn");
    const Json& parts = member(content, "parts");
    if (!check_.require(parts.is_array() && !parts.empty(), place, "must include at least one parts field")) return;
    std::size_t responses = 0;
    for (const Json& part : parts) responses += part.contains("functionResponse") ? 1 : 0;
    check_.require(responses == open_.size(), place,
                   "the number of function response parts is equal to the number of function call parts");
    check_.require(responses == 0 || responses == parts.size(), place, "function responses are a content of their own");
    const std::vector<Json> calls = std::move(open_);
    open_.clear();
    std::size_t answered = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      part(at(place, i), parts[i], role);
      if (parts[i].contains("functionResponse") && answered < calls.size()) {
        response(at(place, i), parts[i]["functionResponse"], calls[answered++]);
      }
    }
    if (in_current_turn) signature(place, parts);
    previous_ = role;
  }

  void part(const std::string& place, const Json& part, const std::string& role) {
    check_.require(has_only(part, {"text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall",
                                   "functionResponse"}),
                   place, "Unknown name");
    std::size_t data = 0;
    for (const char* name : {"text", "inlineData", "fileData", "functionCall", "functionResponse"}) {
      data += part.contains(name) ? 1 : 0;
    }
    check_.require(data == 1, place, "required oneof field 'data' must have one initialized field");
    if (part.contains("text")) {
      check_.require(is_text(part["text"]) || part.contains("thoughtSignature"), place, "text is not empty");
    }
    if (part.contains("inlineData")) {
      check_.require(role == "user" && is_text(member(part["inlineData"], "data")) &&
                         is_text(member(part["inlineData"], "mimeType")),
                     place, "inlineData has mimeType and data");
    }
    if (part.contains("functionCall")) call(place, part["functionCall"], role);
    check_.require(role == "user" || !part.contains("functionResponse"), place,
                   "Content with role 'model' can't contain 'functionResponse' part");
  }

  void call(const std::string& place, const Json& call, const std::string& role) {
    check_.require(role == "model", place, "Content with role 'user' can't contain 'functionCall' part");
    check_.require(has_only(call, {"name", "args", "id"}), place, "Unknown name");
    check_.require(is_tool_name(member(call, "name")), place, "the name matches ^[a-zA-Z0-9_-]{1,64}$");
    check_.require(!call.contains("args") || call["args"].is_object(), place, "args is an object");
    open_.push_back(call);
  }

  void response(const std::string& place, const Json& response, const Json& call) {
    check_.require(has_only(response, {"name", "response", "id", "parts"}), place, "Unknown name");
    check_.require(text_of(response, "name") == text_of(call, "name"), place, "has the name of its call");
    check_.require(text_of(response, "id") == text_of(call, "id"), place, "has the id of its call");
    check_.require(member(response, "response").is_object(), place, "response is an object");
  }

  void signature(const std::string& place, const Json& parts) {
    for (const Json& part : parts) {
      if (!part.contains("functionCall")) continue;
      check_.require(is_text(member(part, "thoughtSignature")), place, "Function call is missing a thought_signature");
      return;
    }
  }

  void tools(const Json& tools) {
    check_.require(tools.is_array() && tools.size() == 1, "tools", "has one list of declarations");
    for (const Json& tool : member(tools[0], "functionDeclarations")) {
      check_.require(is_tool_name(member(tool, "name")), "tools", "a declaration has a name");
      check_.require(!tool.contains("parameters") || text_of(tool["parameters"], "type") == "object", "tools",
                     "parameters are an object");
    }
  }

  bool checks_signatures_;
  RuleCheck check_;
  std::string previous_;
  std::vector<Json> open_;  // calls of the content before
};

}  // namespace

Problems gemini_problems(const Json& body, bool checks_signatures) { return GeminiCheck(checks_signatures).run(body); }

}  // namespace allm::testing
