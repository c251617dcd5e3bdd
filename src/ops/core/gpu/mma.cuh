#pragma once
// Instructions that all cards from sm_80 on support: tensor-core products (mma.sync), loads of
// matrix fragments from shared memory, asynchronous copies and base-2 exponentials.

#include <cstdint>

namespace longhaul::cuda {

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Returns tanh(x) with a relative error of at most 2^-11, a quarter of the error of a rounding to
/// bf16.
__device__ __forceinline__ float tanh_of(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Replaces each dot product x of a query and a key by tanh(bend * x) if the model caps logits
/// (bend > 0). The results are proportional to the capped logits (LogitForm).
template <int N>
__device__ __forceinline__ void bend_logits(float (&x)[N], float bend) {
  if (bend == 0) return;
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = tanh_of(x[i] * bend);
}
template <int N>
__device__ __forceinline__ void bend_logits(float (&x)[N][4], float bend) {
  if (bend == 0) return;
#pragma unroll
  for (int g = 0; g < N; ++g) bend_logits(x[g], bend);
}

/// Converts two floats to bf16. `low` becomes the low 16 bits of the result.
__device__ __forceinline__ uint32_t bf16_pair(float low, float high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
__device__ __forceinline__ float low_of(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_of(uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000u);
}

/// Loads four 8 x 8 matrices of 16-bit elements. Lane l passes the address of row l % 8 of matrix l
/// / 8.
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_transposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// Computes c [16, 8] += a [16, 16] * b [16, 8] in bf16 with f32 sums. Each lane of the warp holds
/// its fragments of a, b and c.
__device__ __forceinline__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Starts the copy of 16 bytes to shared memory. If `present` is false, writes zeros instead and
/// does not read `from`.
__device__ __forceinline__ void copy_16(uint32_t to, const void* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(present ? 16 : 0)
               : "memory");
}
/// Like copy_16(), for data that only neighbouring thread blocks read, at about the same time. The
/// L2 cache evicts such data first. It can thus keep the data that kernels pass to each other.
__device__ __forceinline__ void copy_16_once(uint32_t to, const void* from, bool present) {
  asm volatile(
      "{ .reg .b64 first;\n"
      "createpolicy.fractional.L2::evict_first.b64 first, 1.0;\n"
      "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, first; }" ::"r"(to),
      "l"(from), "r"(present ? 16 : 0)
      : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until the groups of this thread's copies have completed, except for at most the last
/// `pending` groups.
template <int pending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
/// Waits for the oldest stage in a ring of `stages` stages (2 to 6). The caller must have started
/// the copies of all stages but one.
__device__ __forceinline__ void wait_for_stage(int stages) {
  switch (stages) {
    case 2:
      return wait_copies<0>();
    case 3:
      return wait_copies<1>();
    case 4:
      return wait_copies<2>();
    case 5:
      return wait_copies<3>();
    default:
      return wait_copies<4>();
  }
}

__device__ __forceinline__ void store_16(uint32_t to, uint4 x) {
  asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(x.x), "r"(x.y), "r"(x.z),
               "r"(x.w)
               : "memory");
}
__device__ __forceinline__ uint4 load_16(uint32_t from) {
  uint4 x;
  asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(from)
               : "memory");
  return x;
}

}  // namespace longhaul::cuda
