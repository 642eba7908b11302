// Settings that a server's models have refused, so that later requests are sent without them at once.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace allm {

// Safe to call from any thread.
class LearnedRefusals {
 public:
  // The settings that the model refused, as paths in the request's body.
  std::vector<std::string> of(std::string_view model) const;
  void add(const std::string& model, const std::string& setting);

 private:
  // More would be a program that makes up names.
  static constexpr std::size_t kMaxModels = 256;

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>, std::less<>> settings_;
};

}  // namespace allm
