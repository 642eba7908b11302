// curl's easy handles between two exchanges. To set one up anew costs as much as sending a small request.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>

namespace allm {

// Safe from any thread.
class SpareHandles {
 public:
  SpareHandles() = default;
  SpareHandles(const SpareHandles&) = delete;
  SpareHandles& operator=(const SpareHandles&) = delete;
  ~SpareHandles();

  // One that was kept with the same settings, or null. The caller owns it.
  CURL* take(std::string_view settings);
  // Keeps a handle that has ended its exchange and holds nothing of it. If there are enough, the oldest goes.
  void keep(CURL* easy, std::string settings);

 private:
  // A program that runs many exchanges at once has other costs.
  static constexpr std::size_t kMaxKept = 16;
  struct Spare {
    CURL* easy;
    std::string settings;
  };
  std::mutex mutex_;
  std::vector<Spare> spares_;
};

}  // namespace allm
