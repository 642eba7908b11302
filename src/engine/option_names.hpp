// The names of allm's options, and what a name that is not one of them was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace allm {

// What is wrong with the name of a provider's setting: the name differs from that of an option of allm by at most one
// letter, by upper case or by underscores. Nothing for all other names. Settings of real providers are never refused.
std::optional<std::string> refuse_near_option(std::string_view name);

// The same for settings of one call or request, where the names of allm's own options are refused, too: they have
// fields of their own.
std::optional<std::string> refuse_option_in_params(std::string_view name);

}  // namespace allm
