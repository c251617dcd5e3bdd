#pragma once
// Dot products of one weight row in plain loops, for any block type with scales() and unpack()
// (weight_blocks.h). Unlike in RowSums, the number of rows of x is not a template argument.
// Unpacking dominates the time, and one template instance per type compiles four times as fast as
// four instances. Include this only in *.isa.cc files, which are compiled once per instruction set.

#include "ops/matmul/matvec_kernels.h"

namespace longhaul::LH_ISA {
namespace {

// Largest number of rows of x that are multiplied by a weight row together.
inline constexpr int kMostRowsOfX = 8;

/// Computes a * b + c with fixed rounding. Otherwise the compiler could fuse the operations in one
/// copy of a loop and not in another. The last bits of a result would then depend on the number of
/// rows.
[[gnu::always_inline]] inline float fixed_multiply_add(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// A number of rows of x that is known at compile time.
template <int n>
struct Rows {
  constexpr operator int() const { return n; }
};

template <class Type>
class PlainRowSums {
 public:
  PlainRowSums() = default;
  /// `rows` is the number of rows of x, from 1 to kMostRowsOfX.
  explicit PlainRowSums(int rows) : rows_(rows) {}

  void add_group(const uint8_t* p, const ActivationGroup* const* x, int64_t g) {
    add_blocks(p, 256 / Type::kWeights, x, g);
  }
  void add_tail(const uint8_t* p, int blocks, const ActivationGroup* const* x, int64_t g) {
    add_blocks(p, blocks, x, g);
  }
  float total(int m) const { return sums_[m]; }

 private:
  void add_blocks(const uint8_t* p, int blocks, const ActivationGroup* const* x, int64_t g) {
    float d[16], constant[16];
    uint8_t u[256];
    Type::scales(p, blocks, d, constant);
    Type::unpack(p, blocks, u);
    for (int m = 0; m < rows_; ++m) {
      const ActivationGroup& a = x[m][g];
      for (int s = 0; s < blocks * Type::kWeights / 16; ++s) {
        int32_t dot = 0;
        for (int i = 0; i < 16; ++i) dot += u[16 * s + i] * a.q[16 * s + i];
        sums_[m] +=
            fixed_multiply_add(constant[s], a.sum[s], d[s] * a.scale[s] * static_cast<float>(dot));
      }
    }
  }

  int rows_ = 0;
  float sums_[kMostRowsOfX] = {};
};

}  // namespace
}  // namespace longhaul::LH_ISA
