// Requests: the input of one model call. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/model.hpp"
#include "allm/thread.hpp"
#include "allm/tool.hpp"

namespace allm {

// The format that the answer must have. A format that allm does not know (Kind::provider) must be a JSON object and is
// sent to the provider unchanged.
class ResponseFormat {
 public:
  enum class Kind : std::uint8_t { text, json_object, json_schema, provider, invalid };

  static ResponseFormat text();
  static ResponseFormat json_object();
  static ResponseFormat json_schema(std::string name, Json schema, bool strict = true);
  // Reads the JSON form. A value that is neither "text" nor an object becomes Kind::invalid, with which requests fail.
  static ResponseFormat from_json(Json value);

  Kind kind() const { return kind_; }
  // The JSON form: "text", {"type": "json_object"}, {"type": "json_schema", "name", "schema", "strict"}.
  const Json& json() const { return value_; }

  bool operator==(const ResponseFormat&) const;

 private:
  ResponseFormat(Kind kind, Json value);
  Kind kind_;
  Json value_;
};

// Whether the model must call a tool, and which one.
class ToolChoice {
 public:
  enum class Kind : std::uint8_t { automatic, none, required, tool, provider };

  static ToolChoice automatic();
  static ToolChoice none();
  static ToolChoice required();
  static ToolChoice tool(std::string name);
  // Reads the JSON form: "auto", "none", "required", a tool's name, or a provider's own object.
  static ToolChoice from_json(Json value);

  Kind kind() const { return kind_; }
  const Json& json() const { return value_; }

  bool operator==(const ToolChoice&) const;

 private:
  ToolChoice(Kind kind, Json value);
  Kind kind_;
  Json value_;
};

// Asks the provider to cache the prompt.
struct PromptCache {
  enum class Retention : std::uint8_t { short_term, long_term };  // "short", "long" in JSON
  std::optional<std::string> key = std::nullopt;  // groups calls that share a prefix; default: the session's id
  Retention retention = Retention::short_term;
  bool operator==(const PromptCache&) const;
};

struct Request {
  MessageList messages = {};
  std::optional<ModelRef> model = std::nullopt;
  std::optional<double> temperature = std::nullopt;       // 0 to 2
  std::optional<std::int64_t> max_tokens = std::nullopt;  // of the answer; positive
  std::optional<ResponseFormat> response_format = std::nullopt;
  std::vector<Tool> tools = {};
  std::optional<ToolChoice> tool_choice = std::nullopt;
  // False asks the provider for the whole answer at once, for servers and models that cannot stream. The events are the
  // same, but the text arrives in one piece.
  bool stream = true;
  bool structured_finalize = false;  // true: as CallOptions::structured_finalize
  std::optional<PromptCache> prompt_cache = std::nullopt;
  Json options = empty_object();  // further settings for the provider, by its own names
  Json metadata = empty_object();
  Json unknown_fields = null_json();
  bool operator==(const Request&) const;
};

}  // namespace allm
