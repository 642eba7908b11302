// The chunks of one stream differ in little more than a few characters of text. Once one of them has been parsed, those
// that are equal to it but for that text can be recognised by comparing bytes, several times faster than by parsing.
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

  // The text of a chunk that equals the learned one but for the text, the sequence number and the obfuscation, none of
  // which means anything else. Nothing if it differs, or if its text needs unescaping.
  std::optional<std::string_view> match(std::string_view data);
  // Learns a chunk that adds nothing but text to the message. Called with every one that did not match, it learns anew
  // only when what it knows has become useless.
  void learn(std::string_view data);

 private:
  enum class Hole : std::uint8_t { none, text, number, ignored };
  struct Piece {
    std::string literal = {};
    Hole hole = Hole::none;  // what follows the literal
  };

  std::string key_;
  std::array<Piece, 4> pieces_;
  std::size_t count_ = 0;
  int misses_ = 0;
};

}  // namespace allm::openai_wire
