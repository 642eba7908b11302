// Whether this build has a sanitizer whose shadow memory takes all of the address space, and whose bookkeeping does not
// survive a shared one.
#pragma once

namespace allm {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace allm
