// Reads the few most common forms of chunks in place, without a JSON value. All other chunks, malformed ones included,
// are left to the general reader, which also reports errors. Safe to call from any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace allm::openai_wire {

// A chunk of Chat Completions that adds to the message: text, reasoning or a fragment of a call, or that ends it. The
// views are valid until the next call on this thread. Absent members are "".
struct FastChunk {
  std::string_view id = {};     // read only if asked for
  std::string_view model = {};  // read only if asked for
  std::string_view text = {};
  std::string_view reasoning = {};
  std::string_view finish = {};
  std::int64_t call_index = -1;  // index of the call that the next three members belong to; -1 for none
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
// The kind of delta that an event of this type carries.
FastDelta::Kind delta_kind(std::string_view type);

// Returns whether the chunk has a common form. At least kSsePadding readable bytes must follow the data.
bool read_fast_chunk(std::string_view data, bool with_head, FastChunk& chunk);
// Returns whether the event is a delta of a known kind; stops reading at any other type. Padding as above.
bool read_fast_delta(std::string_view data, FastDelta& delta);

}  // namespace allm::openai_wire
