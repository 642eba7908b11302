#include "process/memory_protection.hpp"

#include <mutex>
#include <sys/prctl.h>

#include "process/sanitized.hpp"

namespace allm {
namespace {

struct Protected {
  std::mutex mutex;
  int count = 0;
  int dumpable_before = 1;
};
Protected& protected_memory() {
  static auto* const shared = new Protected;
  return *shared;
}

}  // namespace

// The leak check of a sanitizer traces the process.
MemoryProtection::MemoryProtection(bool protect) : protects_(protect && !kSanitized) {
  if (!protects_) return;
  Protected& shared = protected_memory();
  const std::lock_guard lock(shared.mutex);
  if (shared.count++ > 0) return;
  shared.dumpable_before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

MemoryProtection::~MemoryProtection() {
  if (!protects_) return;
  Protected& shared = protected_memory();
  const std::lock_guard lock(shared.mutex);
  if (--shared.count == 0 && shared.dumpable_before == 1) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

}  // namespace allm
