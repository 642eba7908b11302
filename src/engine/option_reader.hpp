// Reads options by name, for call options in JSON and for an engine's params.
#pragma once

#include <string_view>

#include "allm/options.hpp"

#include "data/validate.hpp"

namespace allm {

enum class OptionRead : std::uint8_t {
  taken,    // an option with a valid value; it was stored
  unknown,  // not an option of allm
  invalid,  // an option with an invalid value; `message` says why
};

// Stores the option `name` in `options`. A null value counts as absent. A value that belongs to a request and has the
// wrong type is recorded in `wrong`; the validation of the request reports it.
OptionRead read_option(std::string_view name, const Json& value, CallOptions& options, WrongTypes& wrong,
                       std::string& message);

// An engine's params, split into options and provider settings.
struct ParamDefaults {
  CallOptions options;  // options.params are the provider settings
  WrongTypes wrong_types;
  std::vector<FieldError> errors;  // params with a misspelt name or an invalid value
  std::string message;             // describes the first error
};
ParamDefaults read_params(const Json& params);

// Adds the errors of settings that go to the provider only.
void check_provider_params(const Json& params, ParamDefaults& defaults);

}  // namespace allm
