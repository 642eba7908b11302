#include "schema/unicode_property.hpp"

#include <algorithm>
#include <array>

namespace allm::schema_detail {
namespace {

struct Category {
  std::string_view name;
  std::string_view code;
};

constexpr std::array kCategories = {
    Category{"Any", "Any"},
    Category{"Other", "C"},
    Category{"Control", "Cc"},
    Category{"cntrl", "Cc"},
    Category{"Format", "Cf"},
    Category{"Private_Use", "Co"},
    Category{"Surrogate", "Cs"},
    Category{"Letter", "L"},
    Category{"Lowercase_Letter", "Ll"},
    Category{"Modifier_Letter", "Lm"},
    Category{"Other_Letter", "Lo"},
    Category{"Titlecase_Letter", "Lt"},
    Category{"Uppercase_Letter", "Lu"},
    Category{"Mark", "M"},
    Category{"Combining_Mark", "M"},
    Category{"Spacing_Mark", "Mc"},
    Category{"Enclosing_Mark", "Me"},
    Category{"Nonspacing_Mark", "Mn"},
    Category{"Number", "N"},
    Category{"Decimal_Number", "Nd"},
    Category{"digit", "Nd"},
    Category{"Letter_Number", "Nl"},
    Category{"Other_Number", "No"},
    Category{"Punctuation", "P"},
    Category{"punct", "P"},
    Category{"Connector_Punctuation", "Pc"},
    Category{"Dash_Punctuation", "Pd"},
    Category{"Close_Punctuation", "Pe"},
    Category{"Final_Punctuation", "Pf"},
    Category{"Initial_Punctuation", "Pi"},
    Category{"Other_Punctuation", "Po"},
    Category{"Open_Punctuation", "Ps"},
    Category{"Symbol", "S"},
    Category{"Currency_Symbol", "Sc"},
    Category{"Modifier_Symbol", "Sk"},
    Category{"Math_Symbol", "Sm"},
    Category{"Other_Symbol", "So"},
    Category{"Separator", "Z"},
    Category{"Line_Separator", "Zl"},
    Category{"Paragraph_Separator", "Zp"},
    Category{"Space_Separator", "Zs"},
};

std::optional<std::string> category(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kCategories, [name](const Category& category) { return category.name == name || category.code == name; });
  if (found == kCategories.end()) return std::nullopt;
  return std::string(found->code);
}

bool is_name(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; });
}

}  // namespace

std::optional<std::string> re2_property(std::string_view ecma) {
  const std::size_t equals = ecma.find('=');
  if (equals == std::string_view::npos) return category(ecma);
  const std::string_view key = ecma.substr(0, equals);
  const std::string_view value = ecma.substr(equals + 1);
  if (key == "gc" || key == "General_Category") return category(value);
  if ((key == "sc" || key == "Script") && is_name(value)) return std::string(value);
  return std::nullopt;
}

}  // namespace allm::schema_detail
