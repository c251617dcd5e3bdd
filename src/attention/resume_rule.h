#pragma once
// ResumeRule describes the positions at which the prefill of a new prompt can continue from the
// stored state of an earlier prompt that begins with the same tokens.

#include <cstdint>

namespace longhaul {

/// The positions at which the new prompt can continue.
enum class ResumeGroup : uint8_t {
  /// at any position, after truncation of the store, as long as AttentionDriver::can_rewind() is
  /// true
  kRewindable,
  /// at any position up to AttentionDriver::dense_prefix(), from a state that dense attention has
  /// computed
  kDense,
  /// at the end of an earlier prefill with this method. The evicted rows depend on where earlier
  /// prefills ended, unless all of them ended at multiples of `unit` tokens.
  kGrid,
  /// At the ends of earlier turns of a chat, because the end of a prompt influences the state.
  kTurn,
  /// Like kTurn. In addition, the state can answer only the question that ended the earlier prompt.
  kQuestion,
};

struct ResumeRule {
  ResumeGroup group = ResumeGroup::kTurn;
  /// Whether the results are bitwise equal for every division of a prompt into prefills.
  /// kRewindable and kDense require this. It is false if the model itself has layers with a sliding
  /// window.
  bool same_bits = true;
  int64_t unit = 1;  ///< for kGrid: tokens between two suitable ends of a prefill
  /// For kDense: number of last tokens of a prompt that must be processed by the method instead of
  /// dense attention.
  int64_t last = 1;
  /// For kDense: whether the method is dense attention, which evicts nothing.
  bool is_dense = false;

  /// Returns whether a prompt is processed by dense attention until its end, where the method
  /// evicts rows.
  bool evicts_after_dense() const { return group == ResumeGroup::kDense && !is_dense; }
};

}  // namespace longhaul
