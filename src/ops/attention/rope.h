#pragma once
// Rotary position embedding (RoPE, Su et al. 2021, arXiv:2104.09864) in half-split form: the
// elements t and t + rotary_dim / 2 of a head form a pair. Models with other pairings are
// converted: their projections write elements in half-split order.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/host_stage.h"

namespace longhaul {

/// The frequencies of the rotations, after the model's own scaling (linear, llama3, yarn, ...).
struct RopeTable {
  std::vector<double> inverse_frequency;  ///< [rotary_dim / 2], radians per position
  float attention_factor = 1.0f;          ///< factor of cosines and sines (yarn, longrope)
  int rotary_dim() const { return 2 * static_cast<int>(inverse_frequency.size()); }
  bool operator==(const RopeTable&) const = default;
};

/// Returns the frequencies with NTK-aware scaling (bloc97, 2023). With d = rotary_dim, frequency t
/// of d / 2 is multiplied by stretch^(-2t / (d - 2)). The highest frequency does not change, and
/// the lowest is divided by `stretch`.
RopeTable stretched_rope(const RopeTable& rope, double stretch);

/// Caches the most recent result of stretched_rope(). For stretch = 1, of() returns `rope` itself.
class StretchedRope {
 public:
  const RopeTable& of(const RopeTable& rope, double stretch);

 private:
  RopeTable from_, stretched_;
  double stretch_ = 1;
};

/// Cosines and sines of consecutive positions. They are the rotation tables of RoPE.
struct Rotations {
  int64_t first = 0;  ///< position of entry 0
  int64_t count = 0;
  int rotary_dim = 0;
  Place place;                    ///< location of the arrays
  const float* cosine = nullptr;  ///< [count, rotary_dim / 2]
  const float* sine = nullptr;    ///< [count, rotary_dim / 2]
};

/// Computes the cosines and sines [count, rotary_dim / 2] of positions [first, first + count).
inline const DeviceOperation<bool(const RopeTable&, int64_t first, int64_t count,
                                  View<float> cosine, View<float> sine)>
    kRotations;

/// Owns the arrays of a Rotations.
class RotationBuffer {
 public:
  /// Returns the rotations of positions [first, first + count), computed in double precision. They
  /// are not computed again if the buffer already contains these positions for the same table.
  const Rotations& fill(Queue& queue, const RopeTable& table, int64_t first, int64_t count);
  /// Returns the rotations of positions [0, end) and of some further positions. A growing context
  /// therefore rarely needs a new computation.
  const Rotations& up_to(Queue& queue, const RopeTable& table, int64_t end);
  /// Copies `others` to the host.
  const Rotations& copy(const Rotations& others, HostStage& stage);
  const Rotations& view() const { return view_; }

 private:
  RopeTable table_;
  Array<float> cosine_, sine_;
  Rotations view_;
};

/// Caches rotation buffers, so that sequences with equal RoPE tables share one. This saves memory.
/// It also permits that the calls of several sequences run as one (take_joinable() in
/// ops/attention/attend_plan.h).
class SharedRotations {
 public:
  /// Returns the buffer for the table. It exists as long as one of its users holds the pointer.
  std::shared_ptr<RotationBuffer> of(const RopeTable& table);

 private:
  std::vector<std::pair<RopeTable, std::weak_ptr<RotationBuffer>>> kept_;
};

/// Rotates x [rows, heads, head_dim] and writes the result to y, which may alias x. Row r is at
/// position `position` + r. Elements from rotary_dim on are copied. `rotations` must contain all
/// these positions.
void apply_rope(Queue& queue, const Rotations& rotations, int64_t position, View<const float> x,
                int64_t rows, int heads, int head_dim, View<float> y);

/// Like apply_rope(), but all rows have the same position. InfLLM and LM-Infinite use a constant
/// query position.
void apply_rope_constant(Queue& queue, const Rotations& rotations, int64_t position,
                         View<const float> x, int64_t rows, int heads, int head_dim, View<float> y);
/// Like apply_rope(), but row r is at position `position` + r * step.
inline const DeviceOperation<bool(const Rotations&, int64_t position, int64_t step,
                                  View<const float> x, int64_t rows, int heads, int head_dim,
                                  View<float> y)>
    kRotate;

}  // namespace longhaul
