#include "ops/core/convert.h"

#include "base/error.h"
#include "base/parallel.h"
#include "ops/core/row_kernels.h"

namespace longhaul {
namespace {

constexpr int64_t kValuesPerThread = 32 * 1024;  // fewer are not worth another thread

template <class Kernel, class In, class Out>
void in_parallel(Kernel kernel, const In* x, int64_t count, Out* y) {
  parallel_ranges(count, kValuesPerThread,
                  [&](int64_t begin, int64_t end) { kernel(x + begin, end - begin, y + begin); });
}

size_t q8_0_bytes(int64_t count) { return static_cast<size_t>(count) / 32 * 34; }

}  // namespace

void f32_to_bf16(const float* x, int64_t count, bf16_t* y) {
  in_parallel(kConvert_for(current_isa()).f32_to_bf16, x, count, y);
}

void bf16_to_f32(const bf16_t* x, int64_t count, float* y) {
  in_parallel(kConvert_for(current_isa()).bf16_to_f32, x, count, y);
}

void f32_to_f16(const float* x, int64_t count, f16_t* y) {
  in_parallel(kConvert_for(current_isa()).f32_to_f16, x, count, y);
}

void f16_to_f32(const f16_t* x, int64_t count, float* y) {
  in_parallel(kConvert_for(current_isa()).f16_to_f32, x, count, y);
}

void quantize_q8_0(const float* x, int64_t count, std::byte* y) {
  LH_ASSERT(count % 32 == 0);
  const auto kernel = kConvert_for(current_isa()).quantize_q8_0;
  parallel_ranges(count, kValuesPerThread, [&](int64_t begin, int64_t end) {
    kernel(x + begin, end - begin, y + q8_0_bytes(begin));
  });
}

void quantize_q4_0(const float* x, int64_t count, std::byte* y) {
  LH_ASSERT(count % 32 == 0);
  kConvert_for(current_isa()).quantize_q4_0(x, count, y);
}

void mix_blocks(float* x, int64_t count) {
  LH_ASSERT(count % 32 == 0);
  kConvert_for(current_isa()).mix_blocks(x, count);
}

}  // namespace longhaul
