// Counts the heap allocations of a program by replacing malloc.
// Include this file in one source of a program; the program must be a test of its own.
//
//   if (!kCountsAllocations) GTEST_SKIP() << "sanitizers bring their own malloc";
//   const int64_t before = allocations;
//   ...
//   EXPECT_EQ(allocations - before, 0);
#ifndef SINTER_TESTS_RUNTIME_COUNTED_MALLOC_H_
#define SINTER_TESTS_RUNTIME_COUNTED_MALLOC_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

// GCC names the sanitizer by macros, clang by __has_feature.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SINTER_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SINTER_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef SINTER_COUNTS_ALLOCATIONS
#define SINTER_COUNTS_ALLOCATIONS 1
#endif

namespace sinter {

inline constexpr bool kCountsAllocations = SINTER_COUNTS_ALLOCATIONS == 1;
inline std::atomic<int64_t> allocations{0};

}  // namespace sinter

#if SINTER_COUNTS_ALLOCATIONS
// glibc's own functions, under the names that glibc provides for replacements.
// NOLINTBEGIN(misc-definitions-in-headers): one file of a program has them.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  ++sinter::allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++sinter::allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  ++sinter::allocations;
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  ++sinter::allocations;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return 0;
}
}
// NOLINTEND(misc-definitions-in-headers)
#endif

#endif  // SINTER_TESTS_RUNTIME_COUNTED_MALLOC_H_
