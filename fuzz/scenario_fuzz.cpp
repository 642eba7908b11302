// Reads arbitrary bytes as a scenario file. Runs it if it is valid and would not take long.
#include "allm/scenario.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "allm/json.hpp"

namespace {

constexpr std::size_t kMaxBytes = 16 << 10;
constexpr int kMaxWait = 2;  // milliseconds, for every wait in the file

bool is_wait(std::string_view key) { return key == "ms" || key == "delay" || key == "tool_timeout_ms"; }

bool is_quick(const allm::Json& value) {
  if (value.is_array()) return std::ranges::all_of(value, is_quick);
  if (!value.is_object()) return true;
  return std::ranges::all_of(value.items(), [](const auto& item) {
    if (is_wait(item.key()) && item.value().is_number() && item.value() > kMaxWait) return false;
    return is_quick(item.value());
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxBytes) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const allm::Result<allm::Json> document = allm::parse_json(text);
  if (!document || !is_quick(*document)) return 0;
  const auto outcomes = allm::run_scenarios(*document);
  if (!outcomes) return 0;
  for (const allm::ScenarioOutcome& outcome : *outcomes) {
    if (outcome.observations.is_array()) continue;
    __builtin_trap();
  }
  return 0;
}
