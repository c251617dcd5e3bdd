// Checks that the address sanitizer covers kernels, including memory accesses of the matrix unit,
// which the compiler cannot see. Only in builds with the sanitizer.

#if defined(__SANITIZE_ADDRESS__)
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "isa_fixture.h"
#include "ops/matmul/panel_gemm.h"

namespace longhaul {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// Memory with the alignment that kernels need. The sanitizer knows its exact end.
template <class T>
std::unique_ptr<T[], Free> memory(size_t count) {
  void* at = nullptr;
  if (posix_memalign(&at, 64, count * sizeof(T)) != 0) std::abort();
  std::memset(at, 0, count * sizeof(T));
  return std::unique_ptr<T[], Free>(static_cast<T*>(at));
}

/// A block of sums of one tile in depth. The operands lack the given numbers of elements at their
/// ends.
void multiply(const PanelGemmKernels& kernels, size_t x_short, size_t w_short, size_t sums_short) {
  const auto x_tile = static_cast<size_t>(kernels.x_tile);
  const auto w_tile = static_cast<size_t>(kernels.w_tile);
  const auto x = memory<std::byte>(2 * x_tile - x_short);
  const auto w = memory<std::byte>(2 * w_tile - w_short);
  const auto sums = memory<float>(kBlockSide * kBlockSide - sums_short);
  kernels.begin();
  kernels.block(kernels.depth, x.get(), kernels.x_tile, w.get(), kernels.w_tile, sums.get(), false);
  kernels.end();
}

TEST(SanitizedKernels, ReadingAndWritingBehindTheEndIsFoundAtEveryLevel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const RestoreIsaAndThreads restore;
  for (int i = 0; i <= static_cast<int>(best_isa()); ++i) {
    const Isa isa = static_cast<Isa>(i);
    const PanelGemmKernels& kernels = kBf16PanelGemm_for(isa);
    RecordProperty(std::string(name_of(isa)), kernels.depth > 0 ? "checked" : "no such kernel");
    if (kernels.depth == 0) continue;
    SCOPED_TRACE(name_of(isa));
    multiply(kernels, 0, 0, 0);
    EXPECT_DEATH(multiply(kernels, 1, 0, 0), "ERROR: AddressSanitizer");
    EXPECT_DEATH(multiply(kernels, 0, 1, 0), "ERROR: AddressSanitizer");
    EXPECT_DEATH(multiply(kernels, 0, 0, 1), "ERROR: AddressSanitizer");
  }
}

}  // namespace
}  // namespace longhaul
#endif
