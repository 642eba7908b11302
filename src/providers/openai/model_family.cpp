#include "providers/openai/model_family.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "data/ascii.hpp"

namespace allm::openai_wire {
namespace {

// The number after "gpt-": 5 for gpt-5.1-mini, 4 for gpt-4o, 0 for gpt-oss.
int gpt_generation(std::string_view name) {
  if (!name.starts_with("gpt-")) return 0;
  name.remove_prefix(4);
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() ? number : 0;
}

}  // namespace

ModelFamily family_of(std::string_view model) {
  const std::string name = lower_case(model);
  const bool o_series = name.size() >= 2 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9';
  const bool late_gpt = gpt_generation(name) >= 5;
  const bool for_chat = name.find("-chat") != std::string::npos;
  return {.on_responses = o_series || late_gpt,
          .reasons = (o_series || late_gpt) && !for_chat,
          .has_verbosity = late_gpt && !for_chat,
          .completion_tokens = o_series || late_gpt || name.starts_with("gpt-4o") || name.starts_with("gpt-4.1")};
}

bool is_mistral_model(std::string_view model) {
  constexpr std::array<std::string_view, 8> kNames = {"mistral",   "mixtral", "ministral", "devstral",
                                                      "codestral", "pixtral", "magistral", "voxtral"};
  const std::string name = lower_case(model);
  return std::ranges::any_of(kNames, [&name](std::string_view part) { return name.find(part) != std::string::npos; });
}

bool is_claude_model(std::string_view model) { return lower_case(model).find("claude") != std::string::npos; }

}  // namespace allm::openai_wire
