#pragma once
// Rotary position embedding, half-split form: element t of a head is paired with t + rotary_dim/2
// (Su et al. 2021, arXiv:2104.09864). The model normalises other pairings where its projections
// end.

#include <cstdint>
#include <vector>

#include "base/host_stage.h"

namespace longhaul {

/// Frequencies after the model's own scaling (linear, llama3, yarn, ...).
struct RopeTable {
  std::vector<double> inverse_frequency;  ///< [rotary_dim / 2], radians per position
  float attention_factor = 1.0f;          ///< multiplies cos and sin (yarn, longrope)
  int rotary_dim() const { return 2 * static_cast<int>(inverse_frequency.size()); }
  bool operator==(const RopeTable&) const = default;
};

/// Frequencies stretched as NTK-aware scaling does it (bloc97, 2023): number t of d / 2 times
/// stretch^(-2t / (d - 2)), so that the fastest stays and the slowest turns 1 / stretch times as
/// fast.
RopeTable stretched_rope(const RopeTable& rope, double stretch);

/// The same, computed once as long as the same is asked for. A stretch of 1 is the table itself.
class StretchedRope {
 public:
  const RopeTable& of(const RopeTable& rope, double stretch);

 private:
  RopeTable from_, stretched_;
  double stretch_ = 1;
};

/// Cosines and sines of consecutive positions, ready to be applied.
struct Rotations {
  int64_t first = 0;  ///< position of entry 0
  int64_t count = 0;
  int rotary_dim = 0;
  Place place;                    ///< of the numbers
  const float* cosine = nullptr;  ///< [count, rotary_dim / 2]
  const float* sine = nullptr;    ///< [count, rotary_dim / 2]
};

/// Owns the numbers behind a Rotations.
class RotationBuffer {
 public:
  /// Computes positions [first, first + count) in double precision. Keeps what it has when the
  /// same table and range (or a part of it) are asked again.
  const Rotations& fill(Queue& queue, const RopeTable& table, int64_t first, int64_t count);
  /// Positions [0, end) and some more, so that a context that grows asks for few new ones.
  const Rotations& up_to(Queue& queue, const RopeTable& table, int64_t end);
  /// Others' numbers, lent to the host.
  const Rotations& copy(const Rotations& others, HostStage& stage);
  const Rotations& view() const { return view_; }

 private:
  RopeTable table_;
  Array<float> cosine_, sine_;
  Rotations view_;
};

/// Rotates x [rows, heads, head_dim] into y (may be x). Row r stands at position + r; elements past
/// rotary_dim are copied. Positions must be covered by `rotations`.
void apply_rope(Queue& queue, const Rotations& rotations, int64_t position, View<const float> x,
                int64_t rows, int heads, int head_dim, View<float> y);

/// All rows at one position (InfLLM's and LM-Infinite's constant query angle).
void apply_rope_constant(Queue& queue, const Rotations& rotations, int64_t position,
                         View<const float> x, int64_t rows, int heads, int head_dim, View<float> y);

}  // namespace longhaul
