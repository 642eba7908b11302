// Output for people: colours on a terminal that supports them, plain text everywhere else. One thread at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace allm::cli {

enum class Style : std::uint8_t { plain, bold, dim, red, green, yellow, cyan };

class Terminal {
 public:
  // Colours are on if `file` is a terminal, TERM is set and not "dumb", and NO_COLOR is not set.
  explicit Terminal(std::FILE* file);
  Terminal(std::FILE* file, bool interactive, bool colours);

  // Whether a person is watching.
  bool interactive() const { return interactive_; }
  std::string paint(Style style, std::string_view text) const;
  // Writes and flushes.
  void write(std::string_view text) const;

 private:
  std::FILE* file_;
  bool interactive_;
  bool colours_;
};

// The text with control characters replaced, so that the contents of a file cannot control the terminal.
std::string printable(std::string_view text);
// The same for text of several lines: line feeds and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace allm::cli
