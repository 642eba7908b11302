#include "schema/ecma_regex.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/ascii.hpp"
#include "schema/unicode_property.hpp"

namespace allm::schema_detail {
namespace {

constexpr std::size_t kMaxOutput = 256U << 10U;
constexpr std::uint64_t kMaxRepeat = 1000;  // RE2's own limit on one counted repetition

constexpr std::string_view kAny = R"(\x{0}-\x{10ffff})";
constexpr std::string_view kLineEnds = R"(\n\r\x{2028}\x{2029})";
constexpr std::string_view kSpace =
    R"(\t\n\x{b}\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff})";
constexpr std::string_view kNonSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e})"
    R"(\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string by_code(std::uint32_t code) {
  std::array<char, 8> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), code, 16).ptr;
  return "\\x{" + std::string(digits.data(), end) + "}";
}

// A character, or what may stand in a class for a set of them, in RE2's syntax.
struct Piece {
  std::string text;
  bool is_character = true;
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::expected<std::string, std::string> run() {
    while (at_ < in_.size() && error_.empty()) {
      step();
      if (out_.size() > kMaxOutput) refuse("it is too large");
    }
    if (!error_.empty()) return std::unexpected(error_);
    return std::move(out_);
  }

 private:
  void step() {
    const char c = in_[at_];
    switch (c) {
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '[':
        return atom(character_class());
      case '\\':
        return escape();
      case '.':
        ++at_;
        return atom("[^" + std::string(kLineEnds) + "]");
      case '{':
        return repeat();
      case '*':
      case '+':
      case '?':
        ++at_;
        skip_lazy_mark();
        out_ += c;
        atom_ = kNone;
        return;
      case '^':
      case '$':
      case '|':
        ++at_;
        out_ += c;
        atom_ = kNone;
        return;
      default:
        return atom(character().text);
    }
  }

  void refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }

  void atom(const std::string& text) {
    atom_ = out_.size();
    out_ += text;
  }

  // Laziness chooses between matches, and only their existence counts here.
  void skip_lazy_mark() {
    if (at_ < in_.size() && in_[at_] == '?') ++at_;
  }

  bool accept(std::string_view text) {
    if (!in_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  void open_group() {
    if (accept("(?=") || accept("(?!")) return refuse("lookahead is not supported");
    if (accept("(?<=") || accept("(?<!")) return refuse("lookbehind is not supported");
    if (accept("(?<") || accept("(?P<")) {
      const std::size_t end = in_.find('>', at_);
      if (end == std::string_view::npos) return refuse("a group's name has no end");
      at_ = end + 1;
    } else if (in_.substr(at_).starts_with("(?") && !in_.substr(at_).starts_with("(?:")) {
      const std::size_t end = std::min(in_.find_first_not_of("ims-", at_ + 2), in_.size());
      const bool scoped = end < in_.size() && in_[end] == ':';
      if (!scoped && (end == in_.size() || in_[end] != ')')) return refuse("'(?' starts no known kind of group");
      if (scoped) groups_.push_back(out_.size());
      out_ += in_.substr(at_, end + 1 - at_);
      at_ = end + 1;
      atom_ = kNone;
      return;
    } else if (!accept("(?:")) {
      ++at_;
    }
    groups_.push_back(out_.size());
    out_ += "(?:";
    atom_ = kNone;
  }

  void close_group() {
    ++at_;
    if (groups_.empty()) return refuse("it has an unmatched ')'");
    out_ += ')';
    atom_ = groups_.back();
    groups_.pop_back();
  }

  std::optional<std::uint64_t> count() {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(in_.data() + at_, in_.data() + in_.size(), value);
    if (error == std::errc::invalid_argument) return std::nullopt;
    if (error != std::errc{}) value = kMaxOutput * kMaxRepeat;
    at_ = static_cast<std::size_t>(end - in_.data());
    return value;
  }

  void repeat() {
    const std::size_t start = at_++;
    const std::optional<std::uint64_t> least = count();
    std::optional<std::uint64_t> most = least;
    bool unbounded = false;
    if (least && accept(",")) {
      most = count();
      unbounded = !most;
    }
    if (!least || !accept("}")) {
      at_ = start + 1;
      return atom("\\{");
    }
    if (atom_ == kNone) return refuse("a repetition has nothing to repeat");
    if (!unbounded && *most < *least) return refuse("a repetition's bounds are out of order");
    skip_lazy_mark();
    if ((unbounded ? *least : *most) <= kMaxRepeat) {
      out_ += '{' + std::to_string(*least) + (unbounded ? "," : ',' + std::to_string(*most)) + '}';
      atom_ = kNone;
      return;
    }
    const std::string repeated = out_.substr(atom_);
    out_.resize(atom_);
    out_ += "(?:" + copies(repeated, *least, "{");
    out_ += unbounded ? repeated + "*" : copies(repeated, *most - *least, "{0,");
    out_ += ')';
    atom_ = kNone;
  }

  // Repeats `text` in parts that RE2 admits; `open` makes them exact or optional.
  std::string copies(const std::string& text, std::uint64_t times, std::string_view open) {
    std::string result;
    while (times > 0) {
      if (result.size() > kMaxOutput) {
        refuse("its repetitions are too large");
        break;
      }
      const std::uint64_t part = std::min(times, kMaxRepeat);
      (((result += text) += open) += std::to_string(part)) += '}';
      times -= part;
    }
    return result;
  }

  Piece character() {
    const std::size_t start = at_++;
    while (at_ < in_.size() && is_continuation(in_[at_])) ++at_;
    const char c = in_[start];
    if (at_ > start + 1 || is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80U) {
      return {std::string(in_.substr(start, at_ - start))};
    }
    return {by_code(static_cast<unsigned char>(c))};
  }

  void escape() {
    if (accept("\\b") || accept("\\B")) {
      out_ += in_.substr(at_ - 2, 2);
      atom_ = kNone;
      return;
    }
    const Piece piece = escaped();
    atom(piece.is_character ? piece.text : "[" + piece.text + "]");
  }

  // An escape that means the same inside and outside of a class.
  Piece escaped() {
    ++at_;
    if (at_ == in_.size()) return refused("it ends with a backslash");
    const char c = in_[at_];
    if (!is_letter(c) && !is_digit(c)) return character();
    ++at_;
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
        return {std::string("\\") + c, false};
      case 's':
        return {std::string(kSpace), false};
      case 'S':
        return {std::string(kNonSpace), false};
      case 't':
      case 'n':
      case 'f':
      case 'r':
      case 'v':
        return {std::string("\\") + c};
      case 'c':
        if (at_ == in_.size() || !is_letter(in_[at_])) return refused("\\c must be followed by a letter");
        return {by_code(static_cast<unsigned char>(in_[at_++]) % 32U)};
      case 'x':
        return code_or_refuse(hex(2));
      case 'u':
        return code_or_refuse(unicode());
      case 'p':
      case 'P':
        return property(c);
      case '0':
        if (at_ == in_.size() || !is_digit(in_[at_])) return {by_code(0)};
        return refused("octal escapes are not supported");
      case 'k':
        return refused("backreferences are not supported");
      default:
        if (is_digit(c)) return refused("backreferences are not supported");
        return refused(std::string("unknown escape \\") + c);
    }
  }

  Piece refused(std::string why) {
    refuse(std::move(why));
    return {};
  }

  Piece code_or_refuse(std::optional<std::uint32_t> code) {
    if (!code || *code > 0x10FFFFU) return refused("a \\x or \\u escape is malformed");
    if (*code >= 0xD800U && *code <= 0xDFFFU) return refused("an unpaired surrogate cannot occur in text");
    return {by_code(*code)};
  }

  std::optional<std::uint32_t> hex(std::size_t digits) {
    std::uint32_t code = 0;
    if (digits == 0 || digits > 8 || in_.size() - at_ < digits) return std::nullopt;
    const char* end = in_.data() + at_ + digits;
    if (std::from_chars(in_.data() + at_, end, code, 16).ptr != end) return std::nullopt;
    at_ += digits;
    return code;
  }

  std::optional<std::uint32_t> unicode() {
    if (accept("{")) {
      const std::size_t end = in_.find('}', at_);
      if (end == std::string_view::npos) return std::nullopt;
      const auto code = hex(end - at_);
      ++at_;
      return code;
    }
    const auto high = hex(4);
    if (!high || *high < 0xD800U || *high > 0xDBFFU || !accept("\\u")) return high;
    const auto low = hex(4);
    if (!low || *low < 0xDC00U || *low > 0xDFFFU) return std::nullopt;
    return 0x10000U + ((*high - 0xD800U) << 10U) + (*low - 0xDC00U);
  }

  Piece property(char letter) {
    const std::size_t end = in_.find('}', at_);
    if (!accept("{") || end == std::string_view::npos) return refused("\\p must be followed by a name in braces");
    const std::string_view name = in_.substr(at_, end - at_);
    at_ = end + 1;
    if (name == "ASCII") return {letter == 'p' ? R"(\x{0}-\x{7f})" : R"(\x{80}-\x{10ffff})", false};
    const auto known = re2_property(name);
    if (!known) return refused("the Unicode property '" + std::string(name) + "' is not supported");
    return {std::string("\\") + letter + "{" + *known + "}", false};
  }

  Piece class_element() {
    if (accept("\\b")) return {by_code('\b')};
    return in_[at_] == '\\' ? escaped() : character();
  }

  std::string character_class() {
    const bool negated = accept("[^");
    if (!negated) ++at_;
    std::string body;
    while (error_.empty() && at_ < in_.size() && in_[at_] != ']') {
      const Piece first = class_element();
      body += first.text;
      if (at_ + 1 >= in_.size() || in_[at_] != '-' || in_[at_ + 1] == ']') continue;
      ++at_;
      const Piece last = class_element();
      (body += first.is_character && last.is_character ? "-" : "\\-") += last.text;
    }
    if (!accept("]")) refuse("a '[' has no end");
    if (body.empty()) return (negated ? "[" : "[^") + std::string(kAny) + "]";
    return (negated ? "[^" : "[") + body + "]";
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t atom_ = kNone;         // where the text that a quantifier would repeat starts in out_
  std::vector<std::size_t> groups_;  // where the open groups start in out_
  std::string error_;
};

}  // namespace

std::expected<std::string, std::string> ecma_to_re2(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace allm::schema_detail
