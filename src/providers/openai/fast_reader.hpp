// The few shapes of chunks that make up almost all of a stream, read in place and without a JSON value. Everything else
// is "unusual", and read the general way; so is what is malformed, which only the general way reports. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace allm::openai_wire {

// A chunk of Chat Completions that adds to the message: text, reasoning or a fragment of a call, or that ends it. The
// views are valid until the next call on this thread; what is absent is "".
struct FastChunk {
  std::string_view id = {};     // read only if asked for
  std::string_view model = {};  // read only if asked for
  std::string_view text = {};
  std::string_view reasoning = {};
  std::string_view finish = {};
  std::int64_t call_index = -1;  // of the call that the next three belong to; -1 for none
  std::string_view call_id = {};
  std::string_view call_name = {};
  std::string_view arguments = {};

  bool is_text() const { return !text.empty() && reasoning.empty() && finish.empty() && call_index < 0; }
  bool begins_call() const { return !call_id.empty() || !call_name.empty(); }
};

// An event of Responses that carries a delta.
struct FastDelta {
  enum class Kind : std::uint8_t { none, text, arguments, summary, reasoning, refusal };
  Kind kind = Kind::none;
  std::string_view delta = {};
  std::string_view item_id = {};  // read only for arguments
};
// The kind that an event's type stands for.
FastDelta::Kind delta_kind(std::string_view type);

// Whether the chunk is a usual one. At least kSsePadding readable bytes must follow the data.
bool read_fast_chunk(std::string_view data, bool with_head, FastChunk& chunk);
// Whether the event is a delta of a known kind; false at the first sight of any other type. Padding as above.
bool read_fast_delta(std::string_view data, FastDelta& delta);

}  // namespace allm::openai_wire
