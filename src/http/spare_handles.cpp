#include "http/spare_handles.hpp"

#include <algorithm>
#include <utility>

namespace allm {

SpareHandles::~SpareHandles() {
  for (const Spare& spare : spares_) curl_easy_cleanup(spare.easy);
}

CURL* SpareHandles::take(std::string_view settings) {
  const std::lock_guard lock(mutex_);
  // The one that was used last is most likely still in the processor's caches.
  const auto found =
      std::find_if(spares_.rbegin(), spares_.rend(), [&](const Spare& spare) { return spare.settings == settings; });
  if (found == spares_.rend()) return nullptr;
  CURL* const easy = found->easy;
  spares_.erase(std::next(found).base());
  return easy;
}

void SpareHandles::keep(CURL* easy, std::string settings) {
  CURL* oldest = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (spares_.size() >= kMaxKept) {
      oldest = spares_.front().easy;
      spares_.erase(spares_.begin());
    }
    spares_.push_back({easy, std::move(settings)});
  }
  if (oldest != nullptr) curl_easy_cleanup(oldest);
}

}  // namespace allm
