#include "providers/learned_refusals.hpp"

#include <algorithm>

namespace allm {

std::vector<std::string> LearnedRefusals::of(std::string_view model) const {
  const std::lock_guard lock(mutex_);
  const auto found = settings_.find(model);
  return found == settings_.end() ? std::vector<std::string>() : found->second;
}

void LearnedRefusals::add(const std::string& model, const std::string& setting) {
  const std::lock_guard lock(mutex_);
  if (settings_.size() >= kMaxModels && !settings_.contains(model)) return;
  std::vector<std::string>& known = settings_[model];
  if (std::ranges::find(known, setting) == known.end()) known.push_back(setting);
}

}  // namespace allm
