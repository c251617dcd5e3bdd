#pragma once
// Conversions and integer operations for kernels. Tests run them on the host, where the results are
// bitwise equal to those on the GPU.

#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#include <cuda_fp16.h>
#define LH_EVERYWHERE __host__ __device__ __forceinline__
#else
#define LH_EVERYWHERE inline
#endif

#ifndef __CUDA_ARCH__
#include "base/float_types.h"
#endif

namespace longhaul::cuda {

/// 16 bytes, which a GPU thread can load at a time.
struct alignas(16) Word4 {
  uint32_t w[4];
};
struct alignas(8) Word2 {
  uint32_t w[2];
};

LH_EVERYWHERE float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
LH_EVERYWHERE uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

/// Converts an f16, given in the low 16 bits of h, to f32.
LH_EVERYWHERE float half_value(uint32_t h) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(static_cast<unsigned short>(h)));
#else
  return f16_to_f32(static_cast<uint16_t>(h));
#endif
}

/// Converts x to f16, rounded to nearest even. NaN stays NaN but loses its payload.
LH_EVERYWHERE uint32_t half_bits(float x) {
#ifdef __CUDA_ARCH__
  return __half_as_ushort(__float2half_rn(x));
#else
  return f32_to_f16(x);
#endif
}

LH_EVERYWHERE float bf16_value(uint32_t h) { return float_of(h << 16); }

/// Converts x to bf16. Rounding and the treatment of NaN are those of base/float_types.h.
LH_EVERYWHERE uint32_t bf16_bits(float x) {
  const uint32_t u = bits_of(x);
  const uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  return (u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : rounded;
}

LH_EVERYWHERE uint32_t two_bf16(float low, float high) {
  return bf16_bits(low) | bf16_bits(high) << 16;
}

/// Returns `sum` plus the dot product of the four signed bytes of a and the four signed bytes of b.
LH_EVERYWHERE int dot4(uint32_t a, uint32_t b, int sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
#else
  for (int i = 0; i < 32; i += 8) {
    sum += static_cast<int8_t>(a >> i & 255u) * static_cast<int8_t>(b >> i & 255u);
  }
  return sum;
#endif
}

LH_EVERYWHERE int signed_byte(uint32_t word, int i) {
  return static_cast<int8_t>(word >> (8 * i) & 255u);
}

LH_EVERYWHERE uint32_t rotated_left(uint32_t x, int bits) {
#ifdef __CUDA_ARCH__
  return __funnelshift_l(x, x, static_cast<uint32_t>(bits));
#else
  return std::rotl(x, bits);
#endif
}

LH_EVERYWHERE uint32_t count_ones(uint32_t x) {
#ifdef __CUDA_ARCH__
  return static_cast<uint32_t>(__popc(x));
#else
  return static_cast<uint32_t>(std::popcount(x));
#endif
}

/// Returns four of eight bytes. Bytes 0 to 3 are those of a, and bytes 4 to 7 are those of b. Byte
/// i of the result is the byte whose number is nibble i of `selector`.
LH_EVERYWHERE uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, selector);
#else
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t picked = 0;
  for (int i = 0; i < 4; ++i) {
    picked |= static_cast<uint32_t>(bytes >> (8 * (selector >> (4 * i) & 7u)) & 255u) << (8 * i);
  }
  return picked;
#endif
}

/// Loads data that only one thread reads, and only once, such as weights. The load bypasses the L1
/// cache.
template <class T>
LH_EVERYWHERE T load_once(const T* p) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 16) {
    return std::bit_cast<T>(__ldcs(reinterpret_cast<const uint4*>(p)));
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(__ldcs(reinterpret_cast<const uint2*>(p)));
  } else {
    return __ldcs(p);
  }
#else
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
#endif
}

/// Loads read-only data that neighbouring threads also read. The load uses the L1 cache.
template <class T>
LH_EVERYWHERE T load_shared(const T* p) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 16) {
    return std::bit_cast<T>(__ldg(reinterpret_cast<const uint4*>(p)));
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(__ldg(reinterpret_cast<const uint2*>(p)));
  } else {
    return __ldg(p);
  }
#else
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
#endif
}

}  // namespace longhaul::cuda
