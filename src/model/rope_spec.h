#pragma once
// RopeSpec describes the rotation angles (RoPE) of a model: base frequency and scaling.

#include <cstdint>
#include <vector>

#include "ops/attention/rope.h"

namespace longhaul {

enum class RopeScaling { kNone, kLinear, kLlama3, kYarn, kDynamic, kLongRope };

struct RopeSpec {
  int rotary_dim = 0;  ///< number of elements of a head that are rotated
  bool still = false;  ///< whether there is no rotation (layers without position encoding)
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  /// Context length before scaling, for llama3, yarn, dynamic and longrope.
  int64_t original_context = 0;
  double low_freq_factor = 1.0;   ///< parameter of llama3
  double high_freq_factor = 4.0;  ///< parameter of llama3
  double beta_fast = 32.0;        ///< parameter of yarn
  double beta_slow = 1.0;         ///< parameter of yarn
  /// For yarn: whether the ramp begins and ends at whole pairs of dimensions.
  bool whole_pairs = true;
  double attention_factor = 0.0;  ///< for yarn and longrope; 0: the default of this kind of scaling
  /// Additional factor of cos and sin for every kind of scaling (GGUF's attn_factor).
  double attention_multiplier = 1.0;
  std::vector<float> divisors;  ///< [rotary_dim / 2] from a file (GGUF's rope_freqs); may be empty
  std::vector<float> short_factors, long_factors;  ///< for longrope, [rotary_dim / 2]

  /// Returns whether the angles depend on the length of the context.
  bool depends_on_length() const {
    return scaling == RopeScaling::kDynamic || scaling == RopeScaling::kLongRope;
  }
  /// Returns whether contexts of these two lengths use the same angles.
  bool same_angles(int64_t one_length, int64_t other_length) const;
};

/// Returns YaRN's factor of cos and sin, 0.1 * mscale * ln(factor) + 1.
double yarn_magnitude(double factor, double mscale = 1.0);

/// Returns the frequencies for a context of `length` tokens. Sources of the formulas: llama3 (the
/// published code of Llama 3.1), yarn (Peng et al. 2023, arXiv:2309.00071, sections 3.2 to 3.4),
/// dynamic NTK (docs/methods/ntk.md), longrope (arXiv:2402.13753).
RopeTable make_rope(const RopeSpec& spec, int64_t length);

}  // namespace longhaul
