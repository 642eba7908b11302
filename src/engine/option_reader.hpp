// Options by name: one table for call options in JSON and for an engine's params.
#pragma once

#include <string_view>

#include "allm/options.hpp"

#include "data/validate.hpp"

namespace allm {

enum class OptionRead : std::uint8_t {
  taken,    // known, and stored
  unknown,  // not an option of ours
  invalid,  // known, but the value does not fit; `problem` says why
};

// Stores the option `name` in `options`. A null value is the same as none. Values that belong to a
// request and have the wrong type are noted in `wrong`, for request validation to report.
OptionRead read_option(std::string_view name, const Json& value, CallOptions& options, WrongTypes& wrong,
                       std::string& problem);

// An engine's params, taken apart once.
struct ParamDefaults {
  CallOptions options;  // its params are what goes to the provider
  WrongTypes wrong_types;
  std::vector<FieldError> errors;  // params that are not options, or have values they cannot have
  std::string problem;             // the first of them in words
};
ParamDefaults read_params(const Json& params);

// Adds the errors of settings that are for the provider alone.
void check_provider_params(const Json& params, ParamDefaults& defaults);

}  // namespace allm
