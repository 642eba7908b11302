#include "cli/command/spec.hpp"

#include <type_traits>

#include <fmt/format.h>

namespace allm::cli {

std::string OptionSpec::value_text() const {
  if (choices.empty()) return value;
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : "|") + choice;
  return text;
}

std::vector<std::string> OptionSpec::each_name() const {
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t comma = std::min(names.find(',', begin), names.size());
    found.push_back(names.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return found;
}

std::string default_text(const OptionSpec& option) {
  if (!option.show_default) return "";
  return std::visit(
      [](const auto& target) -> std::string {
        using Target = std::remove_cvref_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, int*> || std::is_same_v<Target, double*> ||
                      std::is_same_v<Target, std::int64_t*> || std::is_same_v<Target, std::size_t*> ||
                      std::is_same_v<Target, std::string*>) {
          return fmt::format("{}", *target);
        } else {
          return "";
        }
      },
      option.target);
}

}  // namespace allm::cli
