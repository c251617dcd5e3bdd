#pragma once
// RopeSpec describes the RoPE settings of a model, from which its rotation angles are computed: the
// base and the scaling.

#include <cstdint>
#include <vector>

#include "ops/attention/rope.h"

namespace longhaul {

enum class RopeScaling { kNone, kLinear, kLlama3, kYarn, kDynamic, kLongRope };

struct RopeSpec {
  int rotary_dim = 0;  ///< number of elements of a head that are rotated
  bool still = false;  ///< whether queries and keys are not rotated at all
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  /// Trained context length without scaling, for llama3, yarn, dynamic and longrope.
  int64_t original_context = 0;
  double low_freq_factor = 1.0;   ///< parameter of llama3
  double high_freq_factor = 4.0;  ///< parameter of llama3
  double beta_fast = 32.0;        ///< parameter of yarn
  double beta_slow = 1.0;         ///< parameter of yarn
  /// For yarn: whether the boundaries of the ramp (the range of pairs in which scaling increases)
  /// are rounded to whole pairs.
  bool whole_pairs = true;
  double attention_factor = 0.0;  ///< factor of cos and sin for yarn and longrope; 0: default
  /// Another factor of cos and sin, for every kind of scaling (attn_factor in GGUF files).
  double attention_multiplier = 1.0;
  /// [rotary_dim / 2]: frequencies are divided by them (rope_freqs); empty: none.
  std::vector<float> divisors;
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
