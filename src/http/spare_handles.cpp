#include "http/spare_handles.hpp"

#include <algorithm>
#include <utility>

namespace allm {

bool SpareHandles::is_safe() {
  constexpr unsigned kFixed = 0x080100;
  static const bool safe = curl_version_info(CURLVERSION_NOW)->version_num >= kFixed;
  return safe;
}

EasyHandle SpareHandles::take(std::string_view settings) {
  const std::lock_guard lock(mutex_);
  // The one that was used last is most likely still in the processor's caches.
  const auto found =
      std::find_if(spares_.rbegin(), spares_.rend(), [&](const Spare& spare) { return spare.settings == settings; });
  if (found == spares_.rend()) return {};
  EasyHandle handle = std::move(found->handle);
  spares_.erase(std::next(found).base());
  return handle;
}

void SpareHandles::keep(EasyHandle handle, std::string settings) {
  EasyHandle oldest;  // freed after the lock
  const std::lock_guard lock(mutex_);
  if (spares_.size() >= kMaxKept) {
    oldest = std::move(spares_.front().handle);
    spares_.erase(spares_.begin());
  }
  spares_.push_back({std::move(handle), std::move(settings)});
}

}  // namespace allm
