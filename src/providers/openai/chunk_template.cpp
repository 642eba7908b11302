#include "providers/openai/chunk_template.hpp"

#include <algorithm>
#include <utility>

#include "data/ascii.hpp"
#include "data/utf8.hpp"

namespace allm::openai_wire {
namespace {

constexpr int kTolerated = 16;

// The length of the string contents at the front, up to the closing quote. nullopt if they contain escapes or invalid
// bytes.
std::optional<std::size_t> plain_text(std::string_view rest) {
  unsigned char bits = 0;  // of all bytes, combined by OR
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest[i]);
    if (byte == '"') return bits < 0x80 || is_utf8(rest.substr(0, i)) ? std::optional(i) : std::nullopt;
    if (byte < 0x20 || byte == '\\') return std::nullopt;
    bits |= byte;
  }
  return std::nullopt;
}

std::optional<std::size_t> number(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size() && is_digit(rest[end])) ++end;
  if (end == 0 || (end > 1 && rest.front() == '0')) return std::nullopt;
  return end;
}

}  // namespace

ChunkTemplate::ChunkTemplate(std::string_view key) : key_("\"" + std::string(key) + "\":\"") {}

std::optional<std::string_view> ChunkTemplate::match(std::string_view data) {
  std::optional<std::string_view> text;
  for (std::size_t i = 0; i < count_; ++i) {
    const Piece& piece = pieces_[i];
    if (!data.starts_with(piece.literal)) return std::nullopt;
    data.remove_prefix(piece.literal.size());
    if (piece.hole == Hole::none) break;
    const std::optional<std::size_t> size = piece.hole == Hole::number ? number(data) : plain_text(data);
    if (!size) return std::nullopt;
    if (piece.hole == Hole::text) text = data.substr(0, *size);
    data.remove_prefix(*size);
  }
  if (!text || !data.empty()) return std::nullopt;
  misses_ = 0;
  return text;
}

void ChunkTemplate::learn(std::string_view data) {
  if (count_ > 0 && ++misses_ < kTolerated) return;
  misses_ = 0;
  count_ = 0;
  // The variable parts, in their order.
  struct Place {
    std::size_t at;
    Hole hole;
  };
  std::array<Place, 3> places{};
  std::size_t holes = 0;
  for (const auto& [key, hole] : {std::pair<std::string_view, Hole>(key_, Hole::text),
                                  std::pair<std::string_view, Hole>("\"sequence_number\":", Hole::number),
                                  std::pair<std::string_view, Hole>("\"obfuscation\":\"", Hole::ignored)}) {
    const std::size_t at = data.find(key);
    if (at == std::string_view::npos) {
      if (hole == Hole::text) return;
      continue;
    }
    // A key that occurs twice is ambiguous.
    if (data.find(key, at + key.size()) != std::string_view::npos) return;
    places[holes++] = {.at = at + key.size(), .hole = hole};
  }
  std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(holes),
            [](const Place& a, const Place& b) { return a.at < b.at; });
  std::size_t from = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < holes; ++i) {
    const auto [at, hole] = places[i];
    const std::string_view rest = data.substr(at);
    const std::optional<std::size_t> size = hole == Hole::number ? number(rest) : plain_text(rest);
    if (!size) return;
    pieces_[count++] = {.literal = std::string(data.substr(from, at - from)), .hole = hole};
    from = at + *size;
  }
  pieces_[count++] = {.literal = std::string(data.substr(from))};
  count_ = count;
}

}  // namespace allm::openai_wire
