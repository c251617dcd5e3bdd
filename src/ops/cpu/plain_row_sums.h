#pragma once
// Sums of one weight row in plain loops, of any type that has scales() and unpack()
// (weight_blocks.h). For *.isa.cc only.

#include "ops/cpu/matvec_kernels.h"

namespace longhaul::LH_ISA {
namespace {

template <class Type, int M>
class PlainRowSums {
 public:
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
    for (int m = 0; m < M; ++m) {
      const ActivationGroup& a = x[m][g];
      for (int s = 0; s < blocks * Type::kWeights / 16; ++s) {
        int32_t dot = 0;
        for (int i = 0; i < 16; ++i) dot += u[16 * s + i] * a.q[16 * s + i];
        sums_[m] += d[s] * a.scale[s] * static_cast<float>(dot) + constant[s] * a.sum[s];
      }
    }
  }

  float sums_[M] = {};
};

}  // namespace
}  // namespace longhaul::LH_ISA
