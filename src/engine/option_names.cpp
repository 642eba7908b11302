#include "engine/option_names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "data/ascii.hpp"
#include "engine/own_options.hpp"

namespace allm {
namespace {

// Options of runs, by their JSON names. No provider has a setting with one of these names.
constexpr std::array<std::string_view, 18> kLoopOptions = {
    "max_turns",        "tool_timeout_ms",       "run_timeout_ms",      "max_total_tokens",
    "max_cost",         "max_repeated_failures", "max_concurrency",     "on_tool_error",
    "on_unknown_tool",  "repeat_tool_choice",    "structured_finalize", "structured_finalize_nudge",
    "emit_text_deltas", "emit_tool_deltas",      "emit_reasoning",      "include_raw_chunks",
    "strict_limits",    "shrink_max_tokens_to"};

// Options that allm and providers have in common, partly in another spelling. `mode`, `model` and `context` are
// missing: they are too similar to providers' names (`models`, `content`).
constexpr std::array<std::string_view, 8> kSharedOptions = {"temperature", "max_tokens",   "response_format",
                                                            "tool_choice", "prompt_cache", "max_tool_calls",
                                                            "session_id",  "request_id"};

// C++ field names that differ from the JSON name of the option.
struct FieldName {
  std::string_view name;
  std::string_view option;
};
constexpr std::array<FieldName, 2> kFieldNames = {
    {{"tool_timeout", "tool_timeout_ms"}, {"run_timeout", "run_timeout_ms"}}};

// Lower case and without underscores, so that maxTurns and max_turns are equal.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_' && c != '-') text += to_lower(c);
  }
  return text;
}

// Whether `a` becomes `b` by at most one edit: a letter inserted, removed, replaced or swapped with its neighbour.
bool within_one_edit(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1) return false;
  const auto different = std::ranges::mismatch(a, b);
  const auto i = static_cast<std::size_t>(different.in1 - a.begin());
  if (a.size() < b.size()) return a.substr(i) == b.substr(i + 1);
  if (i == a.size() || a.substr(i + 1) == b.substr(i + 1)) return true;
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] && a.substr(i + 2) == b.substr(i + 2);
}

std::string did_you_mean(std::string_view option) {
  return "is not an option: did you mean " + std::string(option) + "?";
}

bool is_known(std::string_view name) {
  return std::ranges::find(kLoopOptions, name) != kLoopOptions.end() ||
         std::ranges::find(kSharedOptions, name) != kSharedOptions.end() || is_own_option(name);
}

}  // namespace

std::optional<std::string> refuse_near_option(std::string_view name) {
  if (is_known(name)) return std::nullopt;
  const std::string spelling = plain(name);
  for (const std::string_view option : kLoopOptions) {
    if (within_one_edit(spelling, plain(option))) return did_you_mean(option);
  }
  for (const FieldName& field : kFieldNames) {
    if (within_one_edit(spelling, plain(field.name))) return did_you_mean(field.option);
  }
  for (const std::string_view option : kSharedOptions) {
    if (within_one_edit(name, option)) return did_you_mean(option);
  }
  for (const std::string_view option : kOwnOptions) {
    if (within_one_edit(name, option)) return did_you_mean(option);
  }
  return std::nullopt;
}

std::optional<std::string> refuse_option_in_params(std::string_view name) {
  if (std::ranges::find(kLoopOptions, name) != kLoopOptions.end()) {
    return "is an option of allm, not a setting of the provider: set it in CallOptions";
  }
  return refuse_near_option(name);
}

}  // namespace allm
