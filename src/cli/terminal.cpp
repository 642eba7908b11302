#include "cli/terminal.hpp"

#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace allm::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool wants_colours() {
  const std::string_view term = environment("TERM");
  return environment("NO_COLOR").empty() && !term.empty() && term != "dumb";
}

std::string_view code_of(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::bold:
      return "\x1b[1m";
    case Style::dim:
      return "\x1b[2m";
    case Style::red:
      return "\x1b[31m";
    case Style::green:
      return "\x1b[32m";
    case Style::yellow:
      return "\x1b[33m";
    case Style::cyan:
      return "\x1b[36m";
  }
  return "";
}

}  // namespace

Terminal::Terminal(std::FILE* file) : Terminal(file, ::isatty(::fileno(file)) == 1, false) {
  colours_ = interactive_ && wants_colours();
}

Terminal::Terminal(std::FILE* file, bool interactive, bool colours, std::size_t columns)
    : file_(file), interactive_(interactive), colours_(colours), columns_(columns) {}

std::size_t Terminal::columns() const {
  winsize size{};
  if (columns_ != 0 || !interactive_ || ::ioctl(::fileno(file_), TIOCGWINSZ, &size) != 0) return columns_;
  return size.ws_col;
}

std::string Terminal::paint(Style style, std::string_view text) const {
  if (!colours_ || style == Style::plain || text.empty()) return std::string(text);
  return std::string(code_of(style)).append(text).append("\x1b[0m");
}

void Terminal::write(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), file_);
  std::fflush(file_);
}

std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return clean;
}

std::string printable_lines(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) c = ' ';
  }
  return clean;
}

}  // namespace allm::cli
