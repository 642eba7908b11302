// Whether this build has a sanitizer whose shadow memory takes all of the address space, and whose bookkeeping does not
// survive a shared one.
#pragma once

namespace allm {

#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ALLM_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
#define ALLM_SANITIZED
#endif

#ifdef ALLM_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace allm
