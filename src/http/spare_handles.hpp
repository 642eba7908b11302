// curl's easy handles between two exchanges. To set one up anew costs as much as sending a small request.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>

namespace allm {

// A handle that is set up for one URL, which curl would otherwise take apart anew for each exchange. Null without
// memory.
struct EasyHandle {
  template <auto kFree>
  struct Free {
    template <class T>
    void operator()(T* freed) const {
      kFree(freed);
    }
  };
  std::unique_ptr<CURLU, Free<&curl_url_cleanup>> url = nullptr;  // curl keeps a pointer to it
  std::unique_ptr<CURL, Free<&curl_easy_cleanup>> easy = nullptr;

  explicit operator bool() const { return easy != nullptr; }
};

// Safe from any thread.
class SpareHandles {
 public:
  SpareHandles() = default;
  SpareHandles(const SpareHandles&) = delete;
  SpareHandles& operator=(const SpareHandles&) = delete;

  // One that was kept with the same settings, or null.
  EasyHandle take(std::string_view settings);
  // Keeps a handle that has ended its exchange and holds nothing of it. If there are enough, the oldest goes.
  void keep(EasyHandle handle, std::string settings);

 private:
  // A program that runs many exchanges at once has other costs.
  static constexpr std::size_t kMaxKept = 16;
  struct Spare {
    EasyHandle handle;
    std::string settings;
  };
  std::mutex mutex_;
  std::vector<Spare> spares_;
};

}  // namespace allm
