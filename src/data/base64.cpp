#include "data/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace allm {

namespace {

constexpr std::string_view kStandard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kInvalid = 0xFF;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kInvalid);
  for (std::size_t i = 0; i < kStandard.size(); ++i) {
    values[static_cast<unsigned char>(kStandard[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

std::uint32_t byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }
std::uint8_t value_at(std::string_view text, std::size_t i) { return kValues[static_cast<unsigned char>(text[i])]; }

std::string encode(std::string_view bytes, std::string_view alphabet) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  const auto put = [&](std::uint32_t group, int characters) {
    for (int i = 0; i < characters; ++i) text += alphabet[(group >> (18 - 6 * i)) & 63U];
  };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    put(byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2), 4);
  }
  if (bytes.size() - i == 1) put(byte_at(bytes, i) << 16U, 2);
  if (bytes.size() - i == 2) put(byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U, 3);
  return text;
}

std::size_t padding(std::string_view text) {
  if (text.ends_with("==")) return 2;
  return text.ends_with('=') ? 1 : 0;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text = encode(bytes, kStandard);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::string base64url_encode(std::string_view bytes) { return encode(bytes, kUrlSafe); }

bool is_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  text.remove_suffix(padding(text));
  std::uint8_t seen = 0;
  // No value of the alphabet has the two high bits that kInvalid has.
  for (std::size_t i = 0; i < text.size(); ++i) seen |= value_at(text, i);
  return (seen & 0xC0U) == 0;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (!is_base64(text)) return std::nullopt;
  text.remove_suffix(padding(text));
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bits = bits << 6U | value_at(text, i);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(static_cast<unsigned char>(bits >> count));
    }
  }
  return bytes;
}

}  // namespace allm
