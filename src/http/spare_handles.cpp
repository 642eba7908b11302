#include "http/spare_handles.hpp"

#include <algorithm>
#include <utility>

namespace allm {
namespace {

EasyHandle copy_of(const EasyHandle& handle) {
  EasyHandle copy{.url = handle.url};
  copy.easy.reset(curl_easy_duphandle(handle.easy.get()));
  return copy;
}

}  // namespace

bool SpareHandles::is_safe() {
  constexpr unsigned kFixed = 0x080100;
  static const bool safe = curl_version_info(CURLVERSION_NOW)->version_num >= kFixed;
  return safe;
}

std::vector<SpareHandles::Spare>::reverse_iterator SpareHandles::find(std::string_view settings) {
  // The one that was used last is most likely still in the processor's caches.
  return std::find_if(spares_.rbegin(), spares_.rend(), [&](const Spare& spare) { return spare.settings == settings; });
}

EasyHandle SpareHandles::take(std::string_view settings) {
  const std::lock_guard lock(mutex_);
  const auto found = find(settings);
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

EasyHandle SpareHandles::copy(std::string_view settings) {
  const std::lock_guard lock(mutex_);
  const auto found = find(settings);
  return found == spares_.rend() ? EasyHandle() : copy_of(found->handle);
}

void SpareHandles::keep_copy(const EasyHandle& handle, const std::string& settings) {
  if (EasyHandle made = copy_of(handle)) keep(std::move(made), settings);
}

}  // namespace allm
