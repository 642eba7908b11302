// Output for people: colours on a terminal that supports them, plain text everywhere else. One thread at a time.
#pragma once

#include <cstddef>
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
  // `columns` is the width of the terminal; 0 if it is not known.
  Terminal(std::FILE* file, bool interactive, bool colours, std::size_t columns = 0);

  // Whether a person is watching.
  bool interactive() const { return interactive_; }
  // The width of the terminal; 0 if this is not a terminal or its width is not known.
  std::size_t columns() const;
  std::string paint(Style style, std::string_view text) const;
  // Writes and flushes.
  void write(std::string_view text) const;

 private:
  std::FILE* file_;
  bool interactive_;
  bool colours_;
  std::size_t columns_;  // 0: ask the terminal
};

// The text with control characters replaced, so that the contents of a file cannot control the terminal.
std::string printable(std::string_view text);
// The same for text of several lines: line feeds and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace allm::cli
