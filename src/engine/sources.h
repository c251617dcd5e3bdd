#pragma once
// Finds the sources of a reply: the prompt tokens to which a few query heads attended while the
// tokens of the reply were computed. SourceWatch recomputes attention scores of these heads. This
// is cheap and does not change the results of attention.

#include <cstdint>
#include <span>
#include <vector>

#include "attention/step.h"
#include "base/array.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

/// An observed query head, and the weight of its attention in the sum over heads.
struct ObservedHead {
  int layer = 0, head = 0;
  float weight = 1;
};

/// Returns the heads to observe: the retrieval heads in the model's profile for the method ltri.
/// Retrieval heads attend to the prompt tokens that a reply copies. Without such a profile, returns
/// all heads of a few layers in the second half of the model.
std::vector<ObservedHead> heads_to_watch(const ModelShape& shape);

/// Returns a threshold from 0 to 1. A reply counts as based on the passage with the most attention
/// if this passage received at least this share of the attention that all texts received. The
/// threshold is the option rests_at of the model's profile "sources", which `eval --sources
/// --save-sources` writes, or else a default.
double least_share_of_first_passage(const ModelShape& shape);

/// A token of the prompt, and the share of the observed attention that it received from one token
/// of the reply.
struct LookedAt {
  int64_t token = 0;
  float share = 0;
};

class SourceWatch {
 public:
  SourceWatch(const ModelShape& shape, std::vector<ObservedHead> heads, int64_t prompt_tokens);

  /// Records to which keys the observed heads attend in a step. The function that is passed to
  /// Session::observe() must call it with its own arguments. Keys are ranked by their attention
  /// scores. If the method stores keys without RoPE rotation, scores are computed without rotation.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// Returns the prompt tokens to which the model attended when it computed the logits of reply
  /// token `index`. The list is empty for index 0, because these logits come from the prefill of
  /// the prompt.
  std::span<const LookedAt> of(size_t index) const;
  /// Returns whether of() is not empty for some token.
  bool saw_anything() const { return saw_anything_; }
  /// Returns whether scores were computed without RoPE rotation, because the method stores keys
  /// without it.
  bool without_positions() const { return without_positions_; }

 private:
  /// A range of stored keys to which several observed heads attend.
  struct Look {
    TopKeysTask keys;
    int list = 0;  ///< index of the keys' list in the KV store
  };
  /// One of the highest-scoring keys of a head, among the keys that the current row saw in the
  /// current layer.
  struct Candidate {
    int head = 0;
    int64_t token = 0;
    float score = 0;
  };
  void add_looks(const LayerStep& step, const AttendTask& task, KeySegment segment);
  void add_look(const LayerStep& step, const Look& more);
  /// Scores the keys of looks_, adds those with the highest scores to candidates_, and clears
  /// looks_.
  void look(const LayerStep& step);
  /// Adds the best candidates of the current row and layer to looked_at_. A later call for the same
  /// row and layer replaces the result.
  void count(const LayerStep& step);

  std::vector<ObservedHead> heads_;
  int64_t prompt_tokens_;
  bool saw_anything_ = false, without_positions_ = false;
  std::vector<std::vector<LookedAt>> looked_at_;  ///< per reply token
  std::vector<Look> looks_;                       ///< ranges of keys; no head is in two of them
  // The current row and layer. A method may compute the attention of a row in several calls.
  int64_t row_ = -1;
  int layer_ = -1;
  size_t counted_ = 0;  ///< elements of looked_at_.back() that earlier layers added
  std::vector<Candidate> candidates_;
  std::vector<int32_t> keys_;
  std::vector<float> scores_;
  Array<float> rotated_;  ///< rotated queries of a step
};

}  // namespace longhaul
