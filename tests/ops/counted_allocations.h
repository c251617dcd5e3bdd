#pragma once
// Counts the allocations of a test program. One source of a program may include it.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<int64_t> allocations{0};
}

extern "C" {
void* __libc_malloc(size_t bytes);  // NOLINT: glibc's own name
void* malloc(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
}

namespace longhaul::testing_support {

inline void expect_no_allocation(const char* name, const std::function<void()>& operation) {
  // Every thread allocates at its first share of the work, which may be late.
  for (int i = 0; i < 32; ++i) operation();
  const int64_t before = allocations.load();
  operation();
  EXPECT_EQ(allocations.load() - before, 0) << name;
}

}  // namespace longhaul::testing_support

#endif
