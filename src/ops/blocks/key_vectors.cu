#include <cuda_runtime.h>

#include "ops/attention/kv_pages.cuh"
#include "ops/blocks/blocks.gpu.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/over_elements.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kWarps = 4;

/// One warp per 32 values, rounded as in ops/core/convert.h.
__global__ void __launch_bounds__(32 * kWarps)
    store_q4_0_kernel(const float* x, int64_t blocks, uint8_t* to) {
  constexpr float kLargest = 4e5f;  // KeyVectors::kLargestQ4_0
  const int64_t block = blockIdx.x * int64_t{kWarps} + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (block >= blocks) return;
  float own = x[block * 32 + lane];
  own = own != own ? 0.0f : own > kLargest ? kLargest : own < -kLargest ? -kLargest : own;
  store_q4_0(reinterpret_cast<std::byte*>(to) + block * 18, own);
}

}  // namespace

bool store_vectors(Stream stream, const float* x, int64_t count, DType type, uint8_t* to) {
  if (type == DType::F32) {
    copy(stream, x, count, reinterpret_cast<float*>(to));
  } else if (type == DType::BF16) {
    f32_to_bf16(stream, x, count, reinterpret_cast<uint16_t*>(to));
  } else if (type == DType::Q4_0 && count % 32 == 0) {
    const int64_t blocks = count / 32;
    if (blocks == 0) return true;
    store_q4_0_kernel<<<static_cast<unsigned>((blocks + kWarps - 1) / kWarps), 32 * kWarps, 0,
                        stream>>>(x, blocks, to);
    check_launch("store_q4_0");
  } else {
    return false;
  }
  return true;
}

}  // namespace longhaul::cuda
