// Reads arbitrary bytes as server-sent events. Checks that the whole input and its pieces give the same events. The
// first byte selects the size of the pieces and the limits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/sse_parser.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

struct Outcome {
  std::vector<std::string> events;
  std::string stray;
  std::optional<std::int64_t> retry_ms;
  bool too_large = false;
  bool operator==(const Outcome&) const = default;
};

void take(Outcome& outcome, const allm::SseEvent& event) {
  // Reads the padding, so that a sanitizer checks that it exists.
  volatile char last = event.data.data()[event.data.size() + allm::kSsePadding - 1];
  static_cast<void>(last);
  for (const std::string_view text : {event.event, event.data, event.id}) outcome.events.emplace_back(text);
}

Outcome parsed(std::string_view bytes, std::size_t size, const allm::SseLimits& limits) {
  allm::SseParser parser(limits);
  Outcome outcome;
  while (!bytes.empty()) {
    const std::string piece(bytes.substr(0, size));
    parser.feed(piece);
    bytes.remove_prefix(std::min(size, bytes.size()));
    while (const auto event = parser.next()) take(outcome, *event);
  }
  while (const auto event = parser.finish()) take(outcome, *event);
  outcome.stray = parser.stray();
  outcome.retry_ms = parser.retry_ms();
  outcome.too_large = parser.too_large();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  allm::SseLimits limits;
  if ((data[0] & 0x80U) != 0) limits = {.max_event_bytes = 40, .max_stray_bytes = 20};
  const Outcome whole = parsed(bytes, std::max<std::size_t>(1, bytes.size()), limits);
  require(whole == parsed(bytes, (data[0] & 0x3FU) + 1U, limits));
  require(whole == parsed(bytes, 1, limits));
  return 0;
}
