// Keeps curl's easy handles between exchanges: setting up a new one costs as much as sending a small request.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>

namespace allm {

// A handle that is set up for one URL, so that curl does not parse the URL again for each exchange. Null if curl had no
// memory for it.
struct EasyHandle {
  template <auto kFree>
  struct Free {
    template <class T>
    void operator()(T* freed) const {
      kFree(freed);
    }
  };
  std::shared_ptr<CURLU> url = nullptr;  // shared: the handle and its copies keep a pointer to it
  std::unique_ptr<CURL, Free<&curl_easy_cleanup>> easy = nullptr;

  explicit operator bool() const { return easy != nullptr; }
};

// Safe to call from any thread.
class SpareHandles {
 public:
  // Whether a curl handle can be used for a second exchange. In versions before 8.1 it keeps a pointer to a freed
  // header of the first, and an answer whose first header is a folded line makes curl use that pointer. In these
  // versions each exchange gets a copy of a handle that never had one: that is safe, and costs less than a new handle.
  static bool is_safe();

  SpareHandles() = default;
  SpareHandles(const SpareHandles&) = delete;
  SpareHandles& operator=(const SpareHandles&) = delete;

  // One that was kept with the same settings, or null.
  EasyHandle take(std::string_view settings);
  // Keeps a handle whose exchange has ended and that has no pointers to it. Frees the oldest one beyond kMaxKept.
  void keep(EasyHandle handle, std::string settings);

  // A copy of the one that was kept with the same settings, or null. That one must have had no exchange.
  EasyHandle copy(std::string_view settings);
  // Keeps a copy of `handle`, which must have had no exchange.
  void keep_copy(const EasyHandle& handle, const std::string& settings);

 private:
  // No more are needed: in a program that runs many exchanges at once, other costs are larger.
  static constexpr std::size_t kMaxKept = 16;
  struct Spare {
    EasyHandle handle;
    std::string settings;
  };
  std::vector<Spare>::reverse_iterator find(std::string_view settings);  // with the lock held

  std::mutex mutex_;
  std::vector<Spare> spares_;
};

}  // namespace allm
