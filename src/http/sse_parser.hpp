// Server-sent events: bytes in, split at any place, and events out. Follows the HTML standard, except that the end of
// the body completes an unfinished event.
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
  // Bytes kept of lines that are not SSE fields. An error body that a server sends instead of a stream ends up there.
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
  // Must be called before the first feed().
  void set_max_event_bytes(std::size_t bytes) { limits_.max_event_bytes = bytes; }

  // Appends bytes, which next() parses.
  void feed(std::string_view bytes);
  // The next complete event; nullopt until there are more bytes.
  std::optional<SseEvent> next();
  // At the end of the body: the last event, if only the blank line after it is missing.
  std::optional<SseEvent> finish();

  // Whether an event exceeded the limit; from then on next() returns nullopt.
  bool too_large() const;
  // Lines that are not SSE fields, such as lines of JSON, joined by newlines, up to the limit.
  std::string_view stray() const;
  // The last valid `retry:` field.
  std::optional<std::int64_t> retry_ms() const;

 private:
  // The position of the next line end of one kind; if it was not found, the position up to which there is none.
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
  // The end of the line that begins at line_; nullopt if it has not arrived yet.
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
  std::size_t line_ = 0;  // where the current line begins
  Mark newline_;
  Mark carriage_return_;
  bool skip_newline_ = false;  // the last line ended with CR: a LF that follows belongs to it
  bool at_start_ = true;       // no byte of the body was parsed: a BOM may come
  bool too_large_ = false;

  // The event so far. One line of data stays in buffer_, several are joined.
  std::string event_;
  std::size_t data_lines_ = 0;
  std::size_t data_begin_ = 0;
  std::size_t data_end_ = 0;
  std::string joined_;
  std::size_t event_bytes_ = 0;
  bool dispatched_ = false;  // the event was returned, and is cleared at the next use

  std::string id_;
  std::optional<std::int64_t> retry_ms_;
  std::string stray_;
};

}  // namespace allm
