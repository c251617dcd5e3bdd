#pragma once
// ResumeRule describes the positions at which a new prompt can continue from the state of an
// earlier prompt with the same beginning.

#include <cstdint>

namespace longhaul {

/// The positions at which the new prompt can continue.
enum class ResumeGroup : uint8_t {
  /// at any position, after truncation of the store, as long as AttentionDriver::can_rewind() is
  /// true
  kRewindable,
  /// at any position of a state that dense attention has produced, up to
  /// AttentionDriver::dense_prefix()
  kDense,
  /// at the end of an earlier prefill with this method. The result depends on how a prompt is
  /// divided into prefills. If all prefills end at multiples of `unit` tokens, the division does
  /// not change which rows are evicted.
  kGrid,
  kTurn,  ///< at the ends of earlier turns, because the end of a prompt influences the state
  /// Like kTurn; in addition, the state after a text can answer only the question with which it was
  /// computed.
  kQuestion,
};

struct ResumeRule {
  ResumeGroup group = ResumeGroup::kTurn;
  /// Whether the results are bitwise equal for every division of a prompt into prefills.
  /// kRewindable and kDense require this. False if layers have a sliding window in the model
  /// itself.
  bool same_bits = true;
  int64_t unit = 1;  ///< for kGrid: tokens between two suitable ends of a prefill
  /// For kDense: number of last tokens of a prompt that the method must process itself.
  int64_t last = 1;
  /// For kDense: whether the method is dense attention, which evicts nothing.
  bool is_dense = false;

  /// Returns whether a prompt is processed by dense attention until its end, where the method
  /// evicts rows.
  bool evicts_after_dense() const { return group == ResumeGroup::kDense && !is_dense; }
};

}  // namespace longhaul
