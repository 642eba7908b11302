// Environment variables with secrets, which processes of tools do not inherit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace allm {

// Whether a variable counts as a secret: by its name (OPENAI_API_KEY, GITHUB_TOKEN, DB_PASSWORD, …), in capitals or
// not, or by its value (a provider's key, a URL with a password). docs/tool-lanes.md has the rule. The variables in
// which allm itself looks for keys of providers end with _API_KEY.
bool is_secret_variable(std::string_view name, std::string_view value);

// This process's environment without its secrets, "NAME=value" each.
std::vector<std::string> environment_without_secrets();

// The variables of these names that this process has, "NAME=value" each.
std::vector<std::string> named_variables(const std::vector<std::string>& names);

}  // namespace allm
