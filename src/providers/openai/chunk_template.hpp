// Most chunks of a stream differ only in a few characters of text. After one of them was parsed, others that differ
// only in that text are recognised by comparing bytes, several times faster than by parsing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allm::openai_wire {

// One thread at a time.
class ChunkTemplate {
 public:
  // `key` is the member whose text varies: "content" or "delta".
  explicit ChunkTemplate(std::string_view key);

  // The text of a chunk that differs from the learned one only in its text, sequence number and obfuscation. nullopt
  // for other chunks, and if the text contains escapes.
  std::optional<std::string_view> match(std::string_view data);
  // Learns a chunk that adds only text to the message. To be called with every such chunk that did not match; replaces
  // the learned chunk only after several misses.
  void learn(std::string_view data);

 private:
  enum class Hole : std::uint8_t { none, text, number, ignored };
  struct Piece {
    std::string literal = {};
    Hole hole = Hole::none;  // the variable part that follows the literal
  };

  std::string key_;
  std::array<Piece, 4> pieces_;
  std::size_t count_ = 0;
  int misses_ = 0;
};

}  // namespace allm::openai_wire
