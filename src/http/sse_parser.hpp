// Server-sent events: lines in, events out, whatever the split of the bytes. As the HTML standard has them, but that
// the end of the body completes an unfinished event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace allm {

struct SseLimits {
  // Bytes of one event. An image may come as one line of base64, so this is generous.
  std::size_t max_event_bytes = 64U << 20U;
  // Bytes kept of lines that are no SSE fields: an error body sent in place of a stream is recognised there.
  std::size_t max_stray_bytes = 64U << 10U;
};

// One event. The views are valid until the parser is next used. At least kSsePadding readable bytes follow `data`, so
// that a SIMD parser can work on it in place.
struct SseEvent {
  std::string_view event = {};  // "" if the event has no name
  std::string_view data = {};
  std::string_view id = {};  // the last one seen, "" if none
};
inline constexpr std::size_t kSsePadding = 64;

// One thread at a time.
class SseParser {
 public:
  explicit SseParser(SseLimits limits = {});
  const SseLimits& limits() const { return limits_; }
  // Before the first byte.
  void set_max_event_bytes(std::size_t bytes) { limits_.max_event_bytes = bytes; }

  // Appends bytes. They are not looked at before next().
  void feed(std::string_view bytes);
  // The next event that is complete, or nothing until there are more bytes.
  std::optional<SseEvent> next();
  // At the end of the body: the event that its blank line is missing from, if there is one.
  std::optional<SseEvent> finish();

  // Whether an event exceeded the limit; next() gives nothing from then on.
  bool too_large() const;
  // Lines that are no SSE fields, joined by newlines, up to the limit. A line of JSON counts as one.
  std::string_view stray() const;
  // The last valid `retry:` field.
  std::optional<std::int64_t> retry_ms() const;

 private:
  // Where the next of one kind of line end is, or up to where there is none.
  struct Mark {
    std::size_t at = 0;
    bool found = false;
  };

  void append(std::string_view bytes);
  // Moves what is still needed to the front of a buffer that has room for that many bytes more.
  void make_room(std::size_t bytes);
  void forget_front(std::size_t bytes);
  void seek(Mark& mark, char end, std::size_t limit) const;
  bool skip_bom();
  // The end of the line that begins at line_, if it is there.
  std::optional<std::size_t> find_line_end();
  // Whether a line of that many bytes still fits the event; if not, everything is dropped.
  bool fits(std::size_t bytes);
  void take_line(std::string_view line);
  void take_data(std::string_view value);
  void take_stray(std::string_view line);
  std::optional<SseEvent> dispatch();
  void start_event();

  SseLimits limits_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;  // of buffer_, padding included
  std::size_t used_ = 0;
  std::size_t line_ = 0;  // where the line begins that is looked at
  Mark newline_;
  Mark carriage_return_;
  bool skip_newline_ = false;  // the last line ended with CR: a LF that follows belongs to it
  bool at_start_ = true;       // no byte of the body was taken: a BOM may come
  bool too_large_ = false;

  // The event so far. One line of data stays in buffer_, several are joined.
  std::string event_;
  std::size_t data_lines_ = 0;
  std::size_t data_begin_ = 0;
  std::size_t data_end_ = 0;
  std::string joined_;
  std::size_t event_bytes_ = 0;
  bool dispatched_ = false;  // it was given out, and is forgotten at the next use

  std::string id_;
  std::optional<std::int64_t> retry_ms_;
  std::string stray_;
};

}  // namespace allm
