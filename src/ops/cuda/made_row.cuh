#pragma once
// A row of x that a matvec kernel makes itself of f32 numbers, each block for itself: a kernel that
// did it before would take 3 to 5 us to begin, to be seen to end and to run on one processor, and
// here 1 us of L2 reads are added, while weights are on their way. The numbers and the factors of
// the norm lie behind what the product has in shared memory.

#include "ops/cuda/block_sum.cuh"
#include "ops/cuda/matvec_kernel.cuh"

namespace longhaul::cuda {

class MadeRow {
 public:
  /// `shared`: the block's shared memory.
  __device__ __forceinline__ MadeRow(const MatvecArgs& a, void* shared)
      : x_(reinterpret_cast<float4*>(static_cast<char*>(shared) + a.made_at)),
        norm_(x_ + a.cols / 4),
        sums_(reinterpret_cast<float*>(norm_ + a.cols / 4)),  // where there is a norm
        words_(a.cols / 4) {}

  /// Begins to bring the factors, which no kernel writes.
  template <int kThreads>
  __device__ __forceinline__ void begin(const MatvecArgs& a) const {
    if (a.norm == nullptr) return;
#pragma unroll 1
    for (int i = threadIdx.x; i < words_; i += kThreads) copy(norm_ + i, a.norm + 4 * i);
  }

  /// Calls f(i, numbers 4 i to 4 i + 3, whether there are any), with all lanes of a warp at once.
  template <int kThreads, class Function>
  __device__ __forceinline__ void make(const MatvecArgs& a, Function&& f) const {
    const auto* const x = static_cast<const float*>(a.x);
#pragma unroll 1  // of registers there are none to spare, and each round is a few clocks
    for (int i = threadIdx.x; i < words_; i += kThreads) copy(x_ + i, x + 4 * i);
    // A thread reads what it has brought itself.
    asm volatile("cp.async.wait_all;" ::: "memory");
    float scale = 1;
    if (a.norm != nullptr) {
      float sum = 0;
#pragma unroll 1
      for (int i = threadIdx.x; i < words_; i += kThreads) {
        const float4 v = x_[i];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
      }
      scale = 1.0f / sqrtf(block_sum(sum, sums_) / static_cast<float>(a.cols) + a.eps);
    }
#pragma unroll 1
    for (int first = 0; first < words_; first += kThreads) {
      const int i = first + static_cast<int>(threadIdx.x);
      float4 v = {0, 0, 0, 0};
      if (i < words_) v = x_[i];
      if (i < words_ && a.norm != nullptr) {
        const float4 w = norm_[i];
        v = {v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w};
      }
      f(i, v, i < words_);
    }
  }

 private:
  __device__ __forceinline__ static void copy(float4* to, const float* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
  }

  float4 *x_, *norm_;
  float* sums_;  // in dynamic memory: a kernel that may ask for all there is has none of its own
  int words_;
};

}  // namespace longhaul::cuda
