// Which sanitizer this test program was built with, for the few tests that depend on time, signals
// or the size of the address space.
#pragma once

#if !defined(__has_feature)  // GCC 12 and 13 have macros instead
#define NSA_TEST_HAS_FEATURE(name) 0
#else
#define NSA_TEST_HAS_FEATURE(name) __has_feature(name)
#endif

namespace nsa::test {

#if defined(__SANITIZE_THREAD__) || NSA_TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || NSA_TEST_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace nsa::test
