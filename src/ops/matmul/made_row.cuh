#pragma once
// Normalises one f32 row inside the matvec kernel that multiplies it. Each thread block normalises
// the whole row. This reads the row from the L2 cache in about 1 us, while weights are loaded. A
// separate kernel for the normalisation, which would use only one multiprocessor, would take 3 to 5
// us. The row and the weights of the normalisation are in shared memory, after the other data of
// the matvec kernel.

#include "ops/core/gpu/reductions.cuh"
#include "ops/matmul/matvec_kernel.cuh"

namespace longhaul::cuda {

/// Starts a copy of 16 bytes to shared memory. If `present` is false, writes zeros instead.
__device__ __forceinline__ void begin_copy(void* to, const void* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(present ? 16 : 0)
               : "memory");
}

__device__ __forceinline__ void finish_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

class MadeRow {
 public:
  /// `shared` is the shared memory of the thread block.
  __device__ __forceinline__ MadeRow(const MatvecArgs& a, void* shared)
      : x_(reinterpret_cast<float4*>(static_cast<char*>(shared) + a.made_at)),
        norm_(x_ + a.cols / 4),
        sums_(reinterpret_cast<float*>(norm_ + a.cols / 4)),  // used only if the row is normalised
        words_(a.cols / 4) {}

  /// Starts the loads of the normalisation's weights before earlier kernels have ended. This is
  /// safe, because no kernel writes these weights.
  template <int kThreads>
  __device__ __forceinline__ void begin(const MatvecArgs& a) const {
    if (a.norm == nullptr) return;
#pragma unroll 1
    for (int i = threadIdx.x; i < words_; i += kThreads)
      begin_copy(norm_ + i, a.norm + 4 * i, true);
  }

  /// Calls f(i, x, exists) for each group i of four elements of the row. x holds elements 4 * i to
  /// 4 * i + 3, normalised if necessary. `exists` is false beyond the end of the row. All lanes of
  /// a warp call f together.
  template <int kThreads, class Function>
  __device__ __forceinline__ void make(const MatvecArgs& a, Function&& f) const {
    const auto* const x = static_cast<const float*>(a.x);
// The loops are not unrolled, because registers are scarce and an iteration takes only a few
// clocks.
#pragma unroll 1
    for (int i = threadIdx.x; i < words_; i += kThreads) begin_copy(x_ + i, x + 4 * i, true);
    finish_copies();  // no barrier, because each thread reads only what it copied itself
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
  float4 *x_, *norm_;
  // In dynamic shared memory, because a kernel that may use all shared memory cannot have static
  // shared memory.
  float* sums_;
  int words_;
};

}  // namespace longhaul::cuda
