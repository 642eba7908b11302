// Takes the arguments of a tool from a text, by the tool's schema and name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allm/tool.hpp"

namespace allm::demo_model {

struct FoundArguments {
  // An object for each call: several if the text has several values for one argument ("in Oslo and in Rome").
  std::vector<Json> calls = {};
  // The first required argument that the text does not have; then `calls` is empty.
  std::optional<std::string> missing = std::nullopt;
};

// `clause` is the part of `text` that is about the tool; what it does not have is looked for in `text`. `given` has
// texts for arguments by name, which are used first.
FoundArguments find_arguments(const Tool& tool, std::string_view clause, std::string_view text,
                              const std::map<std::string, std::string>& given);

// An instance of a schema, with values from the text where it has some, and examples elsewhere.
Json example_of(const Json& schema, std::string_view text);

}  // namespace allm::demo_model
