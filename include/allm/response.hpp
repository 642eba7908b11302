// Responses: the output of one model call. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/message.hpp"

namespace allm {

enum class FinishReason : std::uint8_t { stop, length, tool_calls, content_filter, error, other };

// Names as in JSON.
std::string_view to_string(FinishReason reason);
std::optional<FinishReason> finish_reason_from_string(std::string_view name);

// Tokens and costs. nullopt means not reported, 0 means reported as zero. `input_tokens` includes cached reads and
// cache writes. Costs are in the currency of the model catalogue.
struct Usage {
  std::optional<std::int64_t> input_tokens = std::nullopt;
  std::optional<std::int64_t> output_tokens = std::nullopt;
  std::optional<std::int64_t> cached_input_tokens = std::nullopt;
  std::optional<std::int64_t> cache_write_input_tokens = std::nullopt;
  std::optional<std::int64_t> reasoning_tokens = std::nullopt;
  std::optional<std::int64_t> total_tokens = std::nullopt;
  std::optional<double> input_cost = std::nullopt;
  std::optional<double> output_cost = std::nullopt;
  std::optional<double> total_cost = std::nullopt;
  Json tool_usage = empty_object();
  Json extra = empty_object();
  Json unknown_fields = null_json();

  // `total_tokens`, else input + output if both were reported.
  std::optional<std::int64_t> total() const;
  // Adds each counter that `other` reports; a counter that neither reports stays nullopt. Numbers in `tool_usage` and
  // `extra` are added, too; other values there are replaced.
  Usage& operator+=(const Usage& other);

  bool operator==(const Usage&) const;
};

struct Response {
  std::optional<std::string> id = std::nullopt;          // the provider's id
  std::optional<std::string> request_id = std::nullopt;  // allm's id of the run
  std::optional<std::string> model = std::nullopt;       // as the provider named it
  std::optional<Message> message = std::nullopt;
  std::optional<std::string> output_text = std::nullopt;
  // The model's reasoning, or the provider's summary of it, as text for people. The reasoning state that a provider
  // expects in the next request is in the message's metadata.
  std::optional<std::string> reasoning = std::nullopt;
  std::vector<ToolCall> tool_calls = {};
  std::optional<FinishReason> finish_reason = std::nullopt;
  std::optional<std::string> raw_finish_reason = std::nullopt;  // as the provider wrote it
  Json raw = null_json();                                       // for the program; runs do not set it
  Usage usage = {};
  // The failure that ended the message after it had begun. In JSON it is `metadata.error`.
  std::optional<Error> error = std::nullopt;
  Json metadata = empty_object();
  Json unknown_fields = null_json();

  // `output_text`, else the text of the message, else nullopt.
  std::optional<std::string> text() const;

  // Parses the text as JSON and reads it into a described struct (allm/describe.hpp). Fails as unwrap() does. Fails
  // with ValidationError `invalid_request` if the text is not one JSON value or does not match the struct; the error
  // has the path of every mismatch. Defined in allm/structured.hpp, which allm/chat.hpp includes.
  template <class T>
  Result<T> as() const;

  bool operator==(const Response&) const;
};

// Returns the text of a response that ended normally. Otherwise fails with the response's own error if it has one, with
// AdapterError `content_filter` if a filter cut the text off, else with StreamError `adapter_error`, whose message says
// how the response ended.
Result<std::string> unwrap(const Response& response);

}  // namespace allm
