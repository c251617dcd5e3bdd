#pragma once
// The places at which another prompt with the same beginning can continue from a method's state.

#include <cstdint>

namespace longhaul {

enum class ResumeGroup : uint8_t {
  /// At any depth after truncation, as long as AttentionDriver::can_rewind() holds.
  kRewindable,
  /// At any depth of the state that dense attention reaches (AttentionDriver::dense_prefix()).
  kDense,
  /// At the ends of earlier prefills of its own. The result depends on the division of a prompt
  /// into prefills, and a division at multiples of `unit` tokens does not change what is evicted.
  kGrid,
  kTurn,      ///< at the ends of earlier turns: the end of a prompt has an effect of its own
  kQuestion,  ///< like kTurn; in addition, the text is read for one question only
};

struct ResumeRule {
  ResumeGroup group = ResumeGroup::kTurn;
  /// kRewindable, kDense: the bits do not depend on the division of a prompt into prefills. They do
  /// in layers with a sliding window of the model.
  bool same_bits = true;
  int64_t unit = 1;       ///< kGrid: tokens
  int64_t last = 1;       ///< kDense: tokens at the end of a prompt that the method itself reads
  bool is_dense = false;  ///< kDense: dense attention itself, which evicts nothing

  /// Whether a prompt is read by dense attention until the end of the prompt, where the method
  /// evicts rows.
  bool evicts_after_dense() const { return group == ResumeGroup::kDense && !is_dense; }
};

}  // namespace longhaul
