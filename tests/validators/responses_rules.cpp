// OpenAI's Responses endpoint, used without stored state.
#include <set>

#include "tests/validators/request_rules.hpp"

namespace allm::testing {
namespace {

class ResponsesCheck {
 public:
  Problems run(const Json& body) {
    if (!check_.require(body.is_object(), "body", "is an object")) return check_.take();
    check_.require(body.contains("model") && is_text(body["model"]), "model", "is required");
    check_.require(member(body, "store") == false, "store", "is false, because the state is in the request");
    check_.require(!body.contains("stop") && !body.contains("stream_options"), "body", "has no parameters of chat");
    const Json& input = member(body, "input");
    if (!check_.require(input.is_array() && !input.empty(), "input", "is a list that is not empty"))
      return check_.take();
    for (std::size_t i = 0; i < input.size(); ++i) item(at("input", i), input[i]);
    check_.require(!after_reasoning_, "input", "reasoning is followed by its item");
    check_.require(open_.empty(), "input", "No tool output found for a function call");
    check_.require(last_ == "user" || last_ == "function_call_output", "input", "ends with the user or a result");
    if (body.contains("tools")) tools(body["tools"]);
    return check_.take();
  }

 private:
  void item(const std::string& place, const Json& item) {
    const std::string type = item.contains("type") ? text_of(item, "type") : "message";
    const std::string kind = type == "message" ? text_of(item, "role") : type;
    if (after_reasoning_) {
      check_.require(kind == "assistant" || kind == "function_call" || kind == "reasoning", place,
                     "reasoning was provided without its required following item");
    }
    after_reasoning_ = kind == "reasoning";
    const bool of_model = kind == "assistant" || kind == "function_call" || kind == "reasoning";
    if (last_ == "function_call_output" || kind == "user" || kind == "system") {
      check_.require(open_.empty() || kind == "function_call_output", place, "calls are answered directly after them");
    }
    if (kind == "reasoning") {
      reasoning(place, item);
    } else if (kind == "function_call") {
      call(place, item);
    } else if (kind == "function_call_output") {
      output(place, item);
    } else if (kind == "assistant") {
      check_.require(is_text(member(item, "content")), place, "the text of the model is not empty");
    } else if (check_.require(kind == "user" || kind == "system" || kind == "developer", place, "has a known role")) {
      content(place, member(item, "content"), kind == "user");
    }
    check_.require(!of_model || last_ != "", place, "the model does not speak first");
    last_ = kind;
  }

  void reasoning(const std::string& place, const Json& item) {
    check_.require(is_text(member(item, "id")) && member(item, "summary").is_array(), place,
                   "reasoning has id and summary");
    check_.require(is_text(member(item, "encrypted_content")), place,
                   "reasoning has encrypted_content, because nothing is stored");
    check_.require(!item.contains("status") || item["status"].is_string(), place, "the status is text");
  }

  void call(const std::string& place, const Json& item) {
    check_.require(has_only(item, {"type", "id", "call_id", "name", "arguments", "status"}), place,
                   "has no unknown members");
    check_.require(is_tool_name(member(item, "name")), place, "the name matches ^[a-zA-Z0-9_-]{1,64}$");
    check_.require(member(item, "arguments").is_string(), place, "the arguments are text");
    const std::string id = text_of(item, "call_id");
    check_.require(!id.empty() && id.size() <= 64, place, "call_id has 1 to 64 characters: " + id);
    check_.require(known_.insert(id).second, place, "call_id is unique: " + id);
    open_.insert(id);
  }

  void output(const std::string& place, const Json& item) {
    check_.require(has_only(item, {"type", "id", "call_id", "output", "status"}), place, "has no unknown members");
    const std::string id = text_of(item, "call_id");
    check_.require(open_.erase(id) == 1, place, "No tool call found for function call output with call_id " + id);
    const Json& output = member(item, "output");
    if (!output.is_string()) content(place, output, true);
  }

  void content(const std::string& place, const Json& content, bool has_parts) {
    if (content.is_string()) return;
    if (!check_.require(has_parts && content.is_array() && !content.empty(), place, "the content is text or parts"))
      return;
    for (const Json& part : content) {
      const std::string type = text_of(part, "type");
      const bool good = (type == "input_text" && is_text(member(part, "text"))) ||
                        (type == "input_image" && is_data_uri_or_url(member(part, "image_url"))) ||
                        type == "input_file";
      check_.require(good, place, "the parts are input_text, input_image (with a text as image_url) or input_file");
    }
  }

  void tools(const Json& tools) {
    for (std::size_t i = 0; i < tools.size(); ++i) {
      check_.require(text_of(tools[i], "type") == "function" && is_tool_name(member(tools[i], "name")), at("tools", i),
                     "is a flat function");
      check_.require(member(tools[i], "parameters").is_object(), at("tools", i), "has parameters");
    }
  }

  RuleCheck check_;
  std::string last_;
  bool after_reasoning_ = false;
  std::set<std::string> open_;
  std::set<std::string> known_;
};

}  // namespace

Problems responses_problems(const Json& body) { return ResponsesCheck().run(body); }

}  // namespace allm::testing
