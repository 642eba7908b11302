// Frames of HTTP/2 as bytes, for servers that send what no HTTP/2 library would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace allm::testing::http2 {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr std::size_t kHeadSize = 9;
inline constexpr std::uint8_t kData = 0;
inline constexpr std::uint8_t kHeaders = 1;
inline constexpr std::uint8_t kPriority = 2;
inline constexpr std::uint8_t kReset = 3;
inline constexpr std::uint8_t kSettings = 4;
inline constexpr std::uint8_t kPing = 6;
inline constexpr std::uint8_t kGoAway = 7;
inline constexpr std::uint8_t kWindowUpdate = 8;
inline constexpr std::uint8_t kContinuation = 9;
inline constexpr std::uint8_t kUnknown = 0xEE;
// Flags.
inline constexpr std::uint8_t kEndStream = 1;
inline constexpr std::uint8_t kAck = 1;
inline constexpr std::uint8_t kEndHeaders = 4;

inline std::string frame(std::uint8_t kind, std::uint8_t flags, std::uint32_t stream, std::string_view payload = {}) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> static_cast<unsigned>(shift));
  bytes += static_cast<char>(kind);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> static_cast<unsigned>(shift));
  bytes += payload;
  return bytes;
}

struct Head {
  std::size_t size = 0;
  std::uint8_t kind = 0;
  std::uint32_t stream = 0;
};
// `bytes` has at least kHeadSize of them.
inline Head read_head(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  return {.size = at(0) << 16U | at(1) << 8U | at(2),
          .kind = static_cast<std::uint8_t>(at(3)),
          .stream = (at(5) << 24U | at(6) << 16U | at(7) << 8U | at(8)) & 0x7FFFFFFFU};
}

inline std::string settings(std::string_view payload = {}) { return frame(kSettings, 0, 0, payload); }
inline std::string settings_ack() { return frame(kSettings, kAck, 0); }

// A header block's field whose name is not in the table. Both texts have fewer than 127 characters.
inline std::string field(std::string_view name, std::string_view value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + std::string(name) + static_cast<char>(value.size()) +
         std::string(value);
}
// The head of an answer with status 200 and a content type.
inline std::string answer_head(std::uint32_t stream) {
  return frame(kHeaders, kEndHeaders, stream, "\x88" + field("content-type", "text/event-stream"));
}
inline std::string data(std::uint32_t stream, std::string_view bytes, bool is_last = false) {
  return frame(kData, is_last ? kEndStream : std::uint8_t{0}, stream, bytes);
}

}  // namespace allm::testing::http2
