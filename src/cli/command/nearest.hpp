// Finds the name that a misspelt one was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allm::cli {

// The name with the smallest number of edits (insert, delete, replace, swap neighbours) from `text`. If none is close
// (more than a third of the longer of both would have to change), the first name that begins with `text`. nullopt if
// there is none.
std::optional<std::string> nearest_name(std::string_view text, const std::vector<std::string>& names);

// "; did you mean 'NAME'?", or "" if no name is close.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& names);

}  // namespace allm::cli
