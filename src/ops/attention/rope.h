#pragma once
// Rotary position embedding (RoPE, Su et al. 2021, arXiv:2104.09864) in half-split form: the
// elements t and t + rotary_dim / 2 of a head form a pair. If a model pairs other elements, the
// rows of its projection weights are reordered when it is loaded, so that the projections write
// elements in half-split order.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/host_stage.h"

namespace longhaul {

/// The frequencies of the rotations, after the model's own scaling (linear, llama3, yarn, ...).
struct RopeTable {
  std::vector<double> inverse_frequency;  ///< [rotary_dim / 2], radians per position
  float attention_factor = 1.0f;          ///< factor of all cosines and sines (yarn, longrope)
  int rotary_dim() const { return 2 * static_cast<int>(inverse_frequency.size()); }
  bool operator==(const RopeTable&) const = default;
};

/// Returns the frequencies with NTK-aware scaling (bloc97, 2023). With d = rotary_dim, frequency t
/// of d / 2 is multiplied by stretch^(-2t / (d - 2)). The highest frequency (t = 0) does not
/// change, and the lowest is divided by `stretch`.
RopeTable stretched_rope(const RopeTable& rope, double stretch);

/// Caches the most recent result of stretched_rope(). For stretch = 1, of() returns its argument
/// `rope`.
class StretchedRope {
 public:
  const RopeTable& of(const RopeTable& rope, double stretch);

 private:
  RopeTable from_, stretched_;
  double stretch_ = 1;
};

/// The rotation tables of RoPE: cosines and sines of consecutive positions.
struct Rotations {
  int64_t first = 0;  ///< position of the first entry
  int64_t count = 0;
  int rotary_dim = 0;
  Place place;                    ///< memory that holds the arrays
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
  /// Returns the rotations of positions [first, first + count), computed in double precision. If
  /// the buffer already contains these positions for the same table, they are not computed again.
  const Rotations& fill(Queue& queue, const RopeTable& table, int64_t first, int64_t count);
  /// Returns the rotations of positions [0, end) and of some further positions, so that a growing
  /// context rarely requires a new computation.
  const Rotations& up_to(Queue& queue, const RopeTable& table, int64_t end);
  /// Copies `others` to the host and returns the copy.
  const Rotations& copy(const Rotations& others, HostStage& stage);
  const Rotations& view() const { return view_; }

 private:
  RopeTable table_;
  Array<float> cosine_, sine_;
  Rotations view_;
};

/// Caches rotation buffers, so that sequences with equal RoPE tables share one. This saves memory.
/// It also allows the attention calls of several sequences to run as one (take_joinable() in
/// ops/attention/attend_plan.h).
class SharedRotations {
 public:
  /// Returns the buffer for the table, which exists as long as any user holds the pointer.
  std::shared_ptr<RotationBuffer> of(const RopeTable& table);

 private:
  std::vector<std::pair<RopeTable, std::weak_ptr<RotationBuffer>>> kept_;
};

/// Rotates x [rows, heads, head_dim] and writes the result to y, which may alias x. Row r is at
/// position `position` + r, and `rotations` must contain all these positions. The elements of a
/// head from rotary_dim on are copied unchanged.
void apply_rope(Queue& queue, const Rotations& rotations, int64_t position, View<const float> x,
                int64_t rows, int heads, int head_dim, View<float> y);

/// Like apply_rope(), but all rows have the position `position`. InfLLM and LM-Infinite give their
/// queries such a constant position.
void apply_rope_constant(Queue& queue, const Rotations& rotations, int64_t position,
                         View<const float> x, int64_t rows, int heads, int head_dim, View<float> y);
/// The operation on a device: like apply_rope(), but row r is at position `position` + r * step.
inline const DeviceOperation<bool(const Rotations&, int64_t position, int64_t step,
                                  View<const float> x, int64_t rows, int heads, int head_dim,
                                  View<float> y)>
    kRotate;

}  // namespace longhaul
