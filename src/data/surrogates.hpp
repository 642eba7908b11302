// Surrogates: the two halves in which JSON escapes a character beyond U+FFFF, such as `\ud83d\ude00`. A model's text
// comes in pieces, and some servers cut it between the halves. No JSON parser accepts a lone half, so the text of an
// event is mended first, and the halves at its ends are joined over events.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allm {

// A half that may belong to a half in another event: a low one at the start of a string or a high one at its end.
struct SplitHalf {
  std::size_t string = 0;  // index of the string, keys included, in the order of the text
  char16_t half = 0;
  bool is_low() const { return half >= 0xDC00; }
};
struct MendedJson {
  std::string text = {};  // every lone half is U+FFFD
  std::size_t strings = 0;
  std::vector<SplitHalf> halves = {};
};
// Mends a JSON text; nullopt if it has no lone half. The text need not be valid. Safe to call from any thread.
std::optional<MendedJson> mend_surrogates(std::string_view json);

// In memory, a half at the start or the end of a text is its three bytes of generalised UTF-8, which valid UTF-8 never
// contains.
inline constexpr std::size_t kHalfBytes = 3;
std::string half_bytes(char16_t half);
inline bool begins_with_low_half(std::string_view text) {
  return text.size() >= kHalfBytes && text[0] == '\xED' && static_cast<unsigned char>(text[1]) >= 0xB0;
}
inline bool ends_with_high_half(std::string_view text) {
  if (text.size() < kHalfBytes) return false;
  const char* end = text.data() + text.size() - kHalfBytes;
  return end[0] == '\xED' && (static_cast<unsigned char>(end[1]) & 0xF0U) == 0xA0U;
}
// The text with U+FFFD instead of a half at its start and its end.
std::string without_halves(std::string_view text);

// Joins the halves of one text that comes in pieces. The result does not depend on where the text is split. Text
// without halves passes without being copied. One thread at a time.
class SurrogateJoiner {
 public:
  // The text of a piece that can be shown now. A high half at its end is held back until the next piece. The view is
  // valid until the next call, and no longer than `piece`.
  std::string_view add(std::string_view piece) {
    const bool passes = high_ == 0 && !begins_with_low_half(piece) && !ends_with_high_half(piece);
    return passes || piece.empty() ? piece : join(piece);
  }
  // At the end of the text: U+FFFD for a half that was held back, else "".
  std::string_view end();
  // Forgets a half that was held back, because the whole text has arrived in another way.
  void drop() { high_ = 0; }

 private:
  std::string_view join(std::string_view piece);

  char16_t high_ = 0;  // held back; 0 for none
  std::string joined_;
};

}  // namespace allm
