// A compiled regular expression of a schema.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace allm::schema_detail {

// Immutable; safe to match from any thread.
class Pattern {
 public:
  struct CompileError {
    std::string message;
    bool out_of_memory = false;
  };

  // Compiles an ECMA-262 expression.
  static std::expected<Pattern, CompileError> compile(std::string_view source, std::size_t max_memory);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // Whether the expression matches anywhere in the text, in time linear in its length.
  bool matches(std::string_view text) const;
  // Steps to charge for matching a text of that many bytes. When RE2 runs out of memory for its automaton, each byte
  // costs as much as the expression is large.
  std::size_t cost(std::size_t bytes) const { return bytes / 8 + bytes * instructions_ / 512; }
  // Bytes of the compiled expression, without what matching caches.
  std::size_t memory() const { return instructions_ * kInstructionBytes; }

  const std::string& source() const { return source_; }

 private:
  Pattern(std::string_view source, std::unique_ptr<const re2::RE2> expression);

  // There are two programs, one of them to match backwards.
  static constexpr std::size_t kInstructionBytes = 32;

  std::string source_;
  std::unique_ptr<const re2::RE2> expression_;
  std::size_t instructions_;
};

}  // namespace allm::schema_detail
