// Limits on the tool calls of one answer of a model.
//
// They hold for every adapter: the decoders of the real providers stop at them before they keep or parse anything, and
// the engine checks the events of all other adapters. EngineOptions::answer_limits sets them:
//   allm::Engine engine({.adapter = adapter, .answer_limits = {.max_calls = 10'000}});
#pragma once

#include <cstddef>

namespace allm {

// An answer that exceeds `max_calls`, `max_call_bytes` or `max_argument_values` ends with an error that names the
// limit: a model call over HTTP with the error of a malformed stream or response, another adapter's with AdapterError
// `malformed_response`. It is not retried.
struct AnswerLimits {
  // Tool calls of one answer. Default 4,096: real answers have a few dozen at most, and each call costs a handler, some
  // events and a message.
  std::size_t max_calls = 4'096;
  // Bytes of the arguments of one call as text. A longer text is kept as it is, but not parsed: the call is answered
  // with ToolError `invalid_arguments`, which tells the model the limit. Default 1 MiB: more than the longest answer of
  // today's models, 128,000 tokens.
  std::size_t max_argument_bytes = 1U << 20U;
  // Bytes of the ids, names and argument texts of all calls of one answer together. Default 4 MiB.
  std::size_t max_call_bytes = 4U << 20U;
  // JSON values (arrays, objects, members, elements) in the arguments of all calls of one answer together. Two bytes of
  // text can become a value of 64 bytes, so the length of the text is not enough of a limit. Default 100,000: more than
  // a model writes in 128,000 tokens, at most 8 MB of memory, and parsed in some milliseconds.
  std::size_t max_argument_values = 100'000;

  bool operator==(const AnswerLimits&) const = default;
};

}  // namespace allm
