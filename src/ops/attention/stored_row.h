#pragma once
// Reads stored keys and values in all kernels. The types are those of ops/attention/kv_type.h. Keys
// in Q4_0 are stored Hadamard-rotated (ops/attention/stored_key.h). The code is plain C++ except
// for the loads, so that tests can read rows on the host with the functions that the kernels call.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "ops/attention/stored_key.h"
#include "ops/core/gpu/numbers.h"

namespace longhaul::cuda {

/// The types of keys or values in a page. kHadamardQ4_0 stands for keys in Q4_0, whose Hadamard
/// rotation must be undone after reading.
enum class PageType : uint8_t { kF32, kF16, kBF16, kQ8_0, kQ4_0, kHadamardQ4_0 };

inline PageType page_type(DType type, bool key) {
  switch (type) {
    case DType::F32:
      return PageType::kF32;
    case DType::F16:
      return PageType::kF16;
    case DType::Q8_0:
      return PageType::kQ8_0;
    case DType::Q4_0:
      return key && type == kHadamardKeys ? PageType::kHadamardQ4_0 : PageType::kQ4_0;
    default:
      LH_ASSERT(type == DType::BF16);
      return PageType::kBF16;
  }
}

/// Returns the size of a stored key or value in bytes. Byte number `type` of the constant
/// kBytesOf32 is the size in bytes of 32 elements of that type. The function has no branches,
/// because kernels call it often.
LH_EVERYWHERE int stored_bytes(PageType type, int head_dim) {
  // The bytes of 32 elements from type 5 down to type 0 are 18, 18, 34, 64, 64 and 128.
  constexpr uint64_t kBytesOf32 = 0x12'12'22'40'40'80;
  return head_dim * static_cast<int>(kBytesOf32 >> (8 * static_cast<int>(type)) & 0xff) / 32;
}

/// A stored row in device memory, or in host memory in tests. Its address is a multiple of 2. The
/// functions below accept any class that has the same members.
struct RowBytes {
  const std::byte* row;

  LH_EVERYWHERE bool between_words(int at) const {
    return (reinterpret_cast<uintptr_t>(row) + static_cast<uintptr_t>(at)) % 4 != 0;
  }
  LH_EVERYWHERE uint32_t half(int at) const {
    return load_shared(reinterpret_cast<const uint16_t*>(row + at));
  }
  LH_EVERYWHERE uint32_t word(int at) const {  // the address must be a multiple of 4
    return load_shared(reinterpret_cast<const uint32_t*>(row + at));
  }
  LH_EVERYWHERE Word4 sixteen(int at) const {  // the address must be a multiple of 16
    return load_shared(reinterpret_cast<const Word4*>(row + at));
  }
};

/// Loads 4 * N bytes from the even offset `at`. Only 32-bit words that contain some of these bytes
/// are read.
template <int N, class Bytes>
LH_EVERYWHERE void words_at(const Bytes& row, int at, uint32_t (&words)[N]) {
  const bool between = row.between_words(at);
  const int first = between ? at - 2 : at;
  const uint32_t selector = between ? 0x5432u : 0x3210u;
  uint32_t word = row.word(first);
  for (int i = 0; i < N; ++i) {
    const uint32_t next = i + 1 < N || between ? row.word(first + 4 * (i + 1)) : 0;
    words[i] = pick_bytes(word, next, selector);
    word = next;
  }
}

struct Eight {
  float x[8];
};

/// Computes x[i] = (byte i - zero) * scale exactly. `scale` must be a number that f16 represents
/// exactly. A byte b is placed in the middle of a float's mantissa, which yields the float
/// 32768 + b. The product of this float and the scale is exact in f32, and so is the difference.
LH_EVERYWHERE void scale_bytes(uint32_t bytes, float zero, float scale, float* x) {
  const float offset = -(32768.0f + zero) * scale;
  for (uint32_t i = 0; i < 4; ++i) {
    x[i] = fmaf(float_of(pick_bytes(bytes, 0x4700u, 0x5404u | i << 4)), scale, offset);
  }
}

/// Computes the unscaled Walsh-Hadamard transform of eight numbers. Pairs of elements that are 1
/// apart are replaced by their sum and difference, then pairs that are 2 and 4 apart.
LH_EVERYWHERE void mix_eight(Eight& e) {
  for (int step = 1; step < 8; step *= 2) {
    for (int i = 0; i < 8; ++i) {
      if ((i & step) != 0) continue;
      const float a = e.x[i], b = e.x[i + step];
      e.x[i] = a + b;
      e.x[i + step] = a - b;
    }
  }
}

/// Returns elements [8 * part, 8 * part + 8) of a Q4_0 block after undoing its Hadamard rotation.
/// The 32 elements of a block are four groups of eight. The four groups are first added or
/// subtracted element by element. mix_eight() then transforms the eight results. Four sums are
/// computed at once, in the bytes of a word. Instead of subtracting a nibble n, the code adds
/// 15 - n.
template <class Bytes>
LH_EVERYWHERE Eight unmixed_eight(const Bytes& row, int block, int part) {
  constexpr uint32_t kLow = 0x0f0f0f0fu;
  uint32_t words[4];  // groups 0 and 1 are in the low nibbles, groups 2 and 3 in the high nibbles
  words_at(row, block + 2, words);
  const uint32_t less_1 = (part & 1) != 0 ? kLow : 0, less_2 = (part & 2) != 0 ? kLow : 0;
  const uint32_t less_3 = less_1 ^ less_2;
  const float scale = half_value(row.half(block)) * 0.176776695f;
  // A nibble n stands for n - 8. An added group thus contributes an offset of 8 to each sum, and a
  // subtracted group an offset of 15 - 8.
  const float zero = part == 0 ? 32.0f : 30.0f;
  Eight e;
  for (int i = 0; i < 2; ++i) {
    const uint32_t a = words[i], b = words[2 + i];
    const uint32_t sums = (a & kLow) + ((b & kLow) ^ less_1) + ((a >> 4 & kLow) ^ less_2) +
                          ((b >> 4 & kLow) ^ less_3);
    scale_bytes(sums, zero, 1.0f, e.x + 4 * i);
  }
  mix_eight(e);
  for (float& x : e.x) x *= scale;
  return e;
}

/// Returns elements [8 * chunk, 8 * chunk + 8) of a stored row of type T.
template <PageType T, class Bytes>
LH_EVERYWHERE Eight eight_of(const Bytes& row, int chunk) {
  Eight e{};
  if constexpr (T == PageType::kF32) {
    for (int i = 0; i < 2; ++i) {
      const Word4 four = row.sixteen(32 * chunk + 16 * i);
      for (int k = 0; k < 4; ++k) e.x[4 * i + k] = float_of(four.w[k]);
    }
  } else if constexpr (T == PageType::kF16 || T == PageType::kBF16) {
    const Word4 pairs = row.sixteen(16 * chunk);
    for (int i = 0; i < 8; ++i) {
      const uint32_t own = pairs.w[i / 2] >> (16 * (i & 1)) & 0xffffu;
      e.x[i] = T == PageType::kF16 ? half_value(own) : bf16_value(own);
    }
  } else if constexpr (T == PageType::kQ8_0) {
    const int block = chunk / 4 * 34;
    const float scale = half_value(row.half(block));
    uint32_t words[2];
    words_at(row, block + 2 + chunk % 4 * 8, words);
    for (int i = 0; i < 2; ++i) scale_bytes(words[i] ^ 0x80808080u, 128.0f, scale, e.x + 4 * i);
  } else if constexpr (T == PageType::kQ4_0) {
    const int block = chunk / 4 * 18;
    const float scale = half_value(row.half(block));
    uint32_t words[2];
    words_at(row, block + 2 + chunk % 2 * 8, words);
    const int shift = chunk % 4 / 2 * 4;
    for (int i = 0; i < 2; ++i) {
      scale_bytes(words[i] >> shift & 0x0f0f0f0fu, 8.0f, scale, e.x + 4 * i);
    }
  } else {
    return unmixed_eight(row, chunk / 4 * 18, chunk % 4);
  }
  return e;
}

/// A page type as a compile-time constant. with_page_type() passes it to f.
template <PageType T>
struct PageTypeConstant {
  static constexpr PageType value = T;
};
template <class F>
LH_EVERYWHERE auto with_page_type(PageType type, F&& f) {
  switch (type) {
    case PageType::kF32:
      return f(PageTypeConstant<PageType::kF32>());
    case PageType::kF16:
      return f(PageTypeConstant<PageType::kF16>());
    case PageType::kBF16:
      return f(PageTypeConstant<PageType::kBF16>());
    case PageType::kQ8_0:
      return f(PageTypeConstant<PageType::kQ8_0>());
    case PageType::kQ4_0:
      return f(PageTypeConstant<PageType::kQ4_0>());
    default:
      return f(PageTypeConstant<PageType::kHadamardQ4_0>());
  }
}

template <class Bytes>
LH_EVERYWHERE Eight load_eight(const Bytes& row, PageType type, int chunk) {
  return with_page_type(type, [&](auto of) { return eight_of<decltype(of)::value>(row, chunk); });
}

}  // namespace longhaul::cuda
