#pragma once
// Helpers that convert arguments of host functions to kernel arguments.

#include <algorithm>

#include "ops/matmul/block_units.h"
#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

inline Planes planes_of(const MatrixView& m) {
  Planes planes{};
  for (int i = 0; i < kMostPlanes; ++i) {
    planes.at[i] = reinterpret_cast<const uint8_t*>(m.planes[i]);
  }
  planes.book = m.book;
  return planes;
}

/// Returns the number of thread blocks for `items` items if each of the `threads` threads of a
/// block handles one item. The result is at most `most`, for kernels with grid-stride loops.
inline unsigned blocks_for(int64_t items, int threads, int64_t most = 132 * 64) {
  return static_cast<unsigned>(std::clamp<int64_t>((items + threads - 1) / threads, 1, most));
}

/// Returns whether all `numbers` (addresses, or strides in bytes) are multiples of `bytes`.
template <class... Numbers>
bool aligned_to(size_t bytes, Numbers... numbers) {
  return (((size_t)numbers % bytes == 0) && ...);
}

/// Readers of the unquantised types. kBytes is the size of an element, and kPer is the number of
/// elements in 16 bytes.
struct PlainF32 {
  static constexpr int kBytes = 4, kPer = 4;
  LH_EVERYWHERE static float value(const Word4& w, int i) { return float_of(w.w[i]); }
  LH_EVERYWHERE static float one(const uint8_t* p) { return *reinterpret_cast<const float*>(p); }
};
struct PlainF16 {
  static constexpr int kBytes = 2, kPer = 8;
  LH_EVERYWHERE static float value(const Word4& w, int i) {
    return half_value(w.w[i / 2] >> (16 * (i & 1)) & 0xffffu);
  }
  LH_EVERYWHERE static float one(const uint8_t* p) {
    return half_value(*reinterpret_cast<const uint16_t*>(p));
  }
};
struct PlainBF16 {
  static constexpr int kBytes = 2, kPer = 8;
  LH_EVERYWHERE static float value(const Word4& w, int i) {
    return float_of(i & 1 ? w.w[i / 2] & 0xffff0000u : w.w[i / 2] << 16);
  }
  LH_EVERYWHERE static float one(const uint8_t* p) {
    return bf16_value(*reinterpret_cast<const uint16_t*>(p));
  }
};

/// Calls f with the reader (PlainF32, PlainF16 or PlainBF16) of `type`.
template <class F>
void with_plain(DType type, F&& f) {
  if (type == DType::F32) return f(PlainF32{});
  if (type == DType::F16) return f(PlainF16{});
  return f(PlainBF16{});
}

}  // namespace longhaul::cuda
