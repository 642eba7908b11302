// Writes JSON text by appending. The sink adds the commas; the caller pairs begin and end.
//
// Functions that can meet a value that JSON cannot represent, or that exceeds a limit, return false and
// leave the reason in the Failure. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "allm/json.hpp"

#include "data/failure.hpp"

namespace allm::codec {

// Levels of arrays and objects that readers and writers follow at most, because each costs stack.
inline constexpr std::size_t kMaxNesting = 1000;
// Limits for texts that are not read again by allm: only the stack limits them.
inline constexpr ReadLimits kUnlimited = {
    .max_depth = kMaxNesting, .max_bytes = SIZE_MAX, .max_string_bytes = SIZE_MAX, .max_items = SIZE_MAX};

class TextSink {
 public:
  // A text that a reader with `limits` would refuse is refused here.
  explicit TextSink(Failure& failure, std::size_t expected_bytes = 256, const ReadLimits& limits = kUnlimited)
      : failure_(failure), limits_(limits) {
    grow(expected_bytes);
  }
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;

  Failure& failure() { return failure_; }
  // Whether values that could not be read again are refused.
  bool checks() const { return true; }
  std::string take() {
    text_.resize(static_cast<std::size_t>(end_ - text_.data()));
    return std::move(text_);
  }

  void begin_object(std::size_t members = 0) {
    open('{');
    expect_items(members);
  }
  void end_object() { close('}'); }
  void begin_array(std::size_t elements = 0) {
    open('[');
    expect_items(elements);
  }
  // A container of about that many items is being written.
  void expect_items(std::size_t count) { most_items_ = std::max(most_items_, count); }
  void end_array() { close(']'); }

  // {"__type__":"<tag>","data":{ … }}. A tag holds nothing that needs escapes.
  void begin_tagged(std::string_view tag) {
    raw("{\"__type__\":\"");
    raw(tag);
    raw("\",\"data\":{");
    enter(2);
  }
  void end_tagged() {
    trim_comma();
    raw("}},");
    depth_ -= 2;
  }

  // A member's name that needs no escapes.
  void key(std::string_view name) {
    char* out = room(name.size() + 3);
    *out = '"';
    std::memcpy(out + 1, name.data(), name.size());
    out += name.size() + 1;
    *out = '"';
    out[1] = ':';
    end_ = out + 2;
  }
  void null() { raw("null,"); }
  void boolean(bool value) { raw(value ? std::string_view("true,") : std::string_view("false,")); }
  void integer(std::int64_t value);
  void natural(std::uint64_t value);
  bool real(double value);
  bool string(std::string_view value) { return quoted(value, ','); }
  // A word from one of our own tables.
  void word(std::string_view value) {
    char* out = room(value.size() + 3);
    *out = '"';
    std::memcpy(out + 1, value.data(), value.size());
    out += value.size() + 1;
    *out = '"';
    out[1] = ',';
    end_ = out + 2;
  }
  bool json(const Json& value);
  // One member of an object, with a name of any kind.
  bool member(const std::string& name, const Json& value) {
    return (quoted(name, ':') && json(value)) || failure_.at(name);
  }
  // Ends the text: removes the comma after the only value.
  void finish() { trim_comma(); }
  // Whether the finished text as a whole keeps the limits.
  bool check_limits();

 private:
  // Every value is followed by a comma; closing a container removes the last one.
  void trim_comma() {
    if (end_[-1] == ',') --end_;
  }
  void open(char bracket) {
    *room(1) = bracket;
    ++end_;
    enter(1);
  }
  void enter(std::size_t levels) {
    depth_ += levels;
    deepest_ = std::max(deepest_, depth_);
  }
  void close(char bracket) {
    trim_comma();
    char* out = room(2);
    out[0] = bracket;
    out[1] = ',';
    end_ = out + 2;
    --depth_;
  }
  void raw(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    end_ += text.size();
  }
  bool quoted(std::string_view value, char follower);
  bool container(const Json& value);

  // The end of the text, with room for that many bytes after it.
  char* room(std::size_t bytes) {
    if (static_cast<std::size_t>(limit_ - end_) < bytes) grow(bytes);
    return end_;
  }
  void grow(std::size_t bytes);

  Failure& failure_;
  const ReadLimits limits_;
  std::string text_;
  char* end_ = text_.data();
  char* limit_ = text_.data();
  std::size_t depth_ = 0;
  std::size_t deepest_ = 0;
  std::size_t most_items_ = 0;
};

}  // namespace allm::codec
