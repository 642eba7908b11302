// Shared by the fuzz targets of codecs: a body must give the same events when it is split in two ways.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allm/serialize.hpp"

#include "providers/codec.hpp"

namespace allm {

inline void require(bool condition) {
  if (!condition) std::abort();
}

// The events of a body that is fed in pieces of `size` bytes. The pieces are copies, so that a sanitizer finds reads
// past their ends.
inline std::vector<Event> events_of(const Codec& codec, const AdapterCall& call, const HttpResponseHead& head,
                                    std::string_view body, std::size_t size) {
  const std::unique_ptr<BodyDecoder> decoder = codec.decoder(call, head);
  std::vector<Event> events;
  while (!body.empty() && !decoder->done()) {
    const std::string piece(body.substr(0, size));
    decoder->feed(piece, events);
    body.remove_prefix(std::min(size, body.size()));
  }
  decoder->finish(events);
  require(decoder->done());
  return events;
}

inline bool is_terminal(const Event& event) {
  return event.tag() == EventTag::message_completed || event.tag() == EventTag::error;
}

inline bool is_malformed(const Event& event) {
  const auto* error = event.get_if<ErrorEvent>();
  return error != nullptr && error->error.is<StreamError>(StreamError::Reason::malformed_event);
}

// The decoder has a fast path, and a general path that it uses when raw chunks are wanted. Both must give the same
// events. For a malformed stream only the error must be the same; the paths may notice it at different places.
inline void compare_with_raw_chunks(const Codec& codec, AdapterCall call, const HttpResponseHead& head,
                                    std::string_view body, const std::vector<Event>& events) {
  call.include_raw_chunks = !call.include_raw_chunks;
  std::vector<Event> others = events_of(codec, call, head, body, std::max<std::size_t>(1, body.size()));
  std::vector<Event> these = events;
  const auto is_raw = [](const Event& event) { return event.tag() == EventTag::raw_chunk; };
  std::erase_if(these, is_raw);
  std::erase_if(others, is_raw);
  require(is_malformed(these.back()) == is_malformed(others.back()));
  require(is_malformed(these.back()) || these == others);
}

// The first byte selects the split and the options; the rest is the body of the response or of an error.
inline void decode_in_two_ways(const Codec& codec, AdapterCall call, std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  call.include_raw_chunks = (choice & 0x80U) != 0;
  const char* type = (choice & 0x40U) != 0 ? "application/json" : "text/event-stream";
  const HttpResponseHead head{200, {{"content-type", type}, {"request-id", "r"}}};

  const std::vector<Event> whole = events_of(codec, call, head, input, std::max<std::size_t>(1, input.size()));
  const std::vector<Event> pieces = events_of(codec, call, head, input, (choice & 0x3FU) + 1U);
  require(whole == pieces);
  require(!whole.empty() && is_terminal(whole.back()));
  require(std::count_if(whole.begin(), whole.end(), is_terminal) == 1);

  compare_with_raw_chunks(codec, call, head, input, whole);

  // The message can be stored and sent back.
  if (const auto* completed = whole.back().get_if<MessageCompleted>()) {
    const Result<std::string> text = to_json(completed->message);
    require(text.has_value());
    const Result<Message> stored = from_json<Message>(*text, {.max_depth = 1000});
    require(stored.has_value() && *stored == completed->message);
    call.model = "m";
    call.request.messages = {user("a"), *stored, user("b")};
    require(codec.write(call).has_value());
  }
  const Error failure = codec.error({static_cast<int>(400 + choice), {}}, input);
  require(to_json(failure).has_value());
}

}  // namespace allm
