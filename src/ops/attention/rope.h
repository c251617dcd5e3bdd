#pragma once
// Rotary position embedding in half-split form: element t of a head is paired with t + rotary_dim/2
// (Su et al. 2021, arXiv:2104.09864). The model converts other pairings at the end of its
// projections.

#include <cstdint>
#include <memory>
#include <utility>
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

/// Frequencies stretched as in NTK-aware scaling (bloc97, 2023): frequency t of d / 2 is multiplied
/// by stretch^(-2t / (d - 2)). The fastest does not change and the slowest becomes slower by the
/// factor `stretch`.
RopeTable stretched_rope(const RopeTable& rope, double stretch);

/// Caches the last stretched table. A stretch of 1 returns the table itself.
class StretchedRope {
 public:
  const RopeTable& of(const RopeTable& rope, double stretch);

 private:
  RopeTable from_, stretched_;
  double stretch_ = 1;
};

/// Cosines and sines of consecutive positions.
struct Rotations {
  int64_t first = 0;  ///< position of entry 0
  int64_t count = 0;
  int rotary_dim = 0;
  Place place;                    ///< location of the arrays
  const float* cosine = nullptr;  ///< [count, rotary_dim / 2]
  const float* sine = nullptr;    ///< [count, rotary_dim / 2]
};

/// Computes cosine, sine [count, rotary_dim / 2] of positions from `first` on.
inline const DeviceOperation<bool(const RopeTable&, int64_t first, int64_t count,
                                  View<float> cosine, View<float> sine)>
    kRotations;

/// Owns the memory of a Rotations.
class RotationBuffer {
 public:
  /// Computes positions [first, first + count) in double precision. Reuses its contents if the
  /// table and the range (or a part of it) have not changed.
  const Rotations& fill(Queue& queue, const RopeTable& table, int64_t first, int64_t count);
  /// Returns positions [0, end) and some further ones, so that a growing context rarely computes
  /// new positions.
  const Rotations& up_to(Queue& queue, const RopeTable& table, int64_t end);
  /// Copies other rotations to the host.
  const Rotations& copy(const Rotations& others, HostStage& stage);
  const Rotations& view() const { return view_; }

 private:
  RopeTable table_;
  Array<float> cosine_, sine_;
  Rotations view_;
};

/// Rotations that sequences with equal tables share. Calls of several sequences can then run as one
/// (take_joinable() in ops/attention/attend_plan.h), and their memory is needed once.
class SharedRotations {
 public:
  /// Returns the buffer of the table. It lives as long as one of its users keeps it.
  std::shared_ptr<RotationBuffer> of(const RopeTable& table);

 private:
  std::vector<std::pair<RopeTable, std::weak_ptr<RotationBuffer>>> kept_;
};

/// Rotates x [rows, heads, head_dim] into y (may alias x). Row r is at position `position` + r.
/// Elements past rotary_dim are copied. `rotations` must cover the positions.
void apply_rope(Queue& queue, const Rotations& rotations, int64_t position, View<const float> x,
                int64_t rows, int heads, int head_dim, View<float> y);

/// Rotates all rows to one position (InfLLM's and LM-Infinite's constant query angle).
void apply_rope_constant(Queue& queue, const Rotations& rotations, int64_t position,
                         View<const float> x, int64_t rows, int heads, int head_dim, View<float> y);
/// Rotates row r to position `position` + r * step.
inline const DeviceOperation<bool(const Rotations&, int64_t position, int64_t step,
                                  View<const float> x, int64_t rows, int heads, int head_dim,
                                  View<float> y)>
    kRotate;

}  // namespace longhaul
