// The names of allm's options; finds the option that a misspelt name was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace allm {

// Refuses the name of a provider's setting that differs from an option of allm only by one letter, by upper case or by
// underscores: returns the error message. nullopt for all other names. Names that real providers use are never refused.
std::optional<std::string> refuse_near_option(std::string_view name);

// The same for the settings of a call or request. There, the names of allm's own options are refused, too, because they
// have their own fields.
std::optional<std::string> refuse_option_in_params(std::string_view name);

}  // namespace allm
