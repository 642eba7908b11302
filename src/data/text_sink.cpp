#include "data/text_sink.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "data/utf8.hpp"

namespace allm::codec {

namespace {

constexpr std::uint64_t every_byte(std::uint64_t byte) { return byte * 0x0101010101010101U; }

// The top bit of each byte that needs an escape: controls, quote, backslash. Bytes above the
// lowest one found may be marked wrongly.
constexpr std::uint64_t needs_escape(std::uint64_t bytes) {
  const auto zero = [](std::uint64_t x) { return (x - every_byte(0x01)) & ~x; };
  const std::uint64_t control = (bytes - every_byte(0x20)) & ~bytes;
  return (control | zero(bytes ^ every_byte('"')) | zero(bytes ^ every_byte('\\'))) & every_byte(0x80);
}

constexpr bool needs_escape(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 || byte == '"' || byte == '\\';
}

char* escape(char byte, char* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  *out++ = '\\';
  switch (byte) {
    case '"':
    case '\\':
      *out++ = byte;
      return out;
    case '\b':
      *out++ = 'b';
      return out;
    case '\f':
      *out++ = 'f';
      return out;
    case '\n':
      *out++ = 'n';
      return out;
    case '\r':
      *out++ = 'r';
      return out;
    case '\t':
      *out++ = 't';
      return out;
    default:
      out = std::copy_n("u00", 3, out);
      *out++ = kDigits[static_cast<unsigned char>(byte) >> 4U];
      *out++ = kDigits[static_cast<unsigned char>(byte) & 0x0FU];
      return out;
  }
}

static_assert(std::endian::native == std::endian::little, "the position of a byte in a word is taken from its low end");

// Copies with escapes. `out` has room for six times the input and a word more. Collects in `seen`
// the bits of all bytes copied, to tell whether any is not ASCII.
char* copy_escaped(const char* in, const char* end, char* out, std::uint64_t& seen) {
  while (end - in >= 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, in, 8);
    std::memcpy(out, &bytes, 8);
    seen |= bytes;
    const std::uint64_t marks = needs_escape(bytes);
    if (marks == 0) {
      in += 8;
      out += 8;
      continue;
    }
    const int plain = std::countr_zero(marks) / 8;
    in += plain;
    out = escape(*in++, out + plain);
  }
  for (; in != end; ++in) {
    seen |= static_cast<unsigned char>(*in);
    if (needs_escape(*in)) {
      out = escape(*in, out);
    } else {
      *out++ = *in;
    }
  }
  return out;
}

}  // namespace

void TextSink::grow(std::size_t bytes) {
  const auto used = static_cast<std::size_t>(end_ - text_.data());
  const std::size_t size = std::max(used + bytes, 2 * text_.size());
  text_.resize_and_overwrite(size, [](char*, std::size_t count) { return count; });
  end_ = text_.data() + used;
  limit_ = text_.data() + size;
}

bool TextSink::check_limits() {
  if (deepest_ > limits_.max_depth) {
    return failure_.fail("too_deep", fmt::format("the value has {} levels of arrays and objects, and at most {} are "
                                                 "allowed (ReadLimits::max_depth)",
                                                 deepest_, limits_.max_depth));
  }
  if (most_items_ > limits_.max_items) {
    return failure_.fail("too_large", fmt::format("a list or an object has {} items, and at most {} are allowed "
                                                  "(ReadLimits::max_items)",
                                                  most_items_, limits_.max_items));
  }
  const auto bytes = static_cast<std::size_t>(end_ - text_.data());
  if (bytes > limits_.max_bytes) {
    return failure_.fail("too_large", fmt::format("the text has {} bytes, and at most {} are allowed "
                                                  "(ReadLimits::max_bytes)",
                                                  bytes, limits_.max_bytes));
  }
  return true;
}

bool TextSink::quoted(std::string_view value, char follower) {
  if (value.size() > limits_.max_string_bytes) {
    return failure_.fail("too_large", fmt::format("the text has {} bytes, and at most {} are allowed "
                                                  "(ReadLimits::max_string_bytes)",
                                                  value.size(), limits_.max_string_bytes));
  }
  constexpr std::size_t kChunk = 4096;
  std::uint64_t seen = 0;
  std::size_t done = 0;
  *room(1) = '"';
  ++end_;
  do {
    const std::size_t count = std::min(kChunk, value.size() - done);
    char* out = room(6 * count + 16);
    end_ = copy_escaped(value.data() + done, value.data() + done + count, out, seen);
    done += count;
  } while (done < value.size());
  char* out = room(2);
  out[0] = '"';
  out[1] = follower;
  end_ = out + 2;
  if ((seen & every_byte(0x80)) != 0 && !is_utf8(value)) {
    return failure_.fail("invalid_utf8", "the text is not valid UTF-8, which JSON requires; encode binary data first");
  }
  return true;
}

void TextSink::integer(std::int64_t value) {
  char* out = room(24);
  out = std::to_chars(out, out + 24, value).ptr;
  *out = ',';
  end_ = out + 1;
}

void TextSink::natural(std::uint64_t value) {
  char* out = room(24);
  out = std::to_chars(out, out + 24, value).ptr;
  *out = ',';
  end_ = out + 1;
}

bool TextSink::real(double value) {
  if (!std::isfinite(value)) {
    return failure_.fail("not_a_number", "JSON has no NaN and no infinity; use null or text instead");
  }
  char* out = room(40);
  char* end = std::to_chars(out, out + 32, value).ptr;
  if (std::string_view(out, end).find_first_of(".e") == std::string_view::npos) {
    *end++ = '.';  // without it the number would come back as an integer
    *end++ = '0';
  }
  *end = ',';
  end_ = end + 1;
  return true;
}

bool TextSink::json(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      null();
      return true;
    case Json::value_t::boolean:
      boolean(*value.get_ptr<const bool*>());
      return true;
    case Json::value_t::number_integer:
      integer(*value.get_ptr<const std::int64_t*>());
      return true;
    case Json::value_t::number_unsigned:
      natural(*value.get_ptr<const std::uint64_t*>());
      return true;
    case Json::value_t::number_float:
      return real(*value.get_ptr<const double*>());
    case Json::value_t::string:
      return string(*value.get_ptr<const std::string*>());
    case Json::value_t::array:
    case Json::value_t::object:
      return container(value);
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return failure_.fail("unsupported_value", "binary data has no form in JSON; encode it as text first");
}

bool TextSink::container(const Json& value) {
  if (depth_ >= kMaxNesting) {
    return failure_.fail("too_deep", "the value nests deeper than 1000 levels of arrays and objects");
  }
  if (const auto* elements = value.get_ptr<const Json::array_t*>()) {
    begin_array(elements->size());
    for (std::size_t i = 0; i < elements->size(); ++i) {
      if (!json((*elements)[i])) return failure_.at(i);
    }
    end_array();
    return true;
  }
  begin_object(value.size());
  for (const auto& [name, element] : *value.get_ptr<const Json::object_t*>()) {
    if (!member(name, element)) return false;
  }
  end_object();
  return true;
}

}  // namespace allm::codec
