#include "ops/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/cpu/row_kernels.h"

namespace longhaul {
namespace {

constexpr int64_t kValuesPerThread = 32 * 1024;  // less is not worth waking a thread for

template <class Kernel, class In, class Out>
void in_parallel(Kernel kernel, const In* x, int64_t count, Out* y) {
  parallel_ranges(count, kValuesPerThread,
                  [&](int64_t begin, int64_t end) { kernel(x + begin, end - begin, y + begin); });
}

size_t q8_0_bytes(int64_t count) { return static_cast<size_t>(count) / 32 * 34; }

/// 32 values to one block of Q4_0, 18 bytes.
void quantize_q4_0_block(const float* x, std::byte* y) {
  const float largest =
      *std::max_element(x, x + 32, [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float scale = largest / -8.0f;
  const f16_t stored = f32_to_f16(scale);
  const float inverse = f16_to_f32(stored) == 0 ? 0.0f : 1.0f / scale;  // no inf times zero
  std::memcpy(y, &stored, sizeof stored);
  const auto level = [&](int i) {
    return static_cast<unsigned>(std::clamp(std::nearbyint(x[i] * inverse) + 8.0f, 0.0f, 15.0f));
  };
  for (int i = 0; i < 16; ++i) y[2 + i] = static_cast<std::byte>(level(i) | level(i + 16) << 4);
}

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

void dequantize_q8_0(const std::byte* x, int64_t count, float* y) {
  LH_ASSERT(count % 32 == 0);
  const auto kernel = kConvert_for(current_isa()).dequantize_q8_0;
  parallel_ranges(count, kValuesPerThread, [&](int64_t begin, int64_t end) {
    kernel(x + q8_0_bytes(begin), end - begin, y + begin);
  });
}

void quantize_q4_0(const float* x, int64_t count, std::byte* y) {
  LH_ASSERT(count % 32 == 0);
  for (int64_t i = 0; i < count; i += 32) quantize_q4_0_block(x + i, y + i / 32 * 18);
}

}  // namespace longhaul
