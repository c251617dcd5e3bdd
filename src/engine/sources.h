#pragma once
// Finds the sources of a reply: the prompt tokens to which a few query heads attended while the
// tokens of the reply were computed. This is a second, cheap pass over the keys of these heads. It
// does not change the results of attention.

#include <cstdint>
#include <span>
#include <vector>

#include "attention/step.h"
#include "base/array.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

/// An observed query head, and the weight of its attention.
struct ObservedHead {
  int layer = 0, head = 0;
  float weight = 1;
};

/// Returns the heads to observe: the retrieval heads in the model's profile for ltri, which find
/// the tokens that replies copy. Without such a profile, returns all heads of a few layers in the
/// second half of the model.
std::vector<ObservedHead> heads_to_watch(const ModelShape& shape);

/// Returns a threshold: a reply is well founded if its first passage has at least this share of the
/// attention on the texts. The threshold is the option rests_at of the model's profile "sources",
/// which `eval --sources --save-sources` writes, or else a default.
double least_share_of_first_passage(const ModelShape& shape);

/// A token of the prompt, and its share of the attention when a reply token was computed.
struct LookedAt {
  int64_t token = 0;
  float share = 0;
};

class SourceWatch {
 public:
  SourceWatch(const ModelShape& shape, std::vector<ObservedHead> heads, int64_t prompt_tokens);

  /// Records the attention of a step. Pass it to Session::observe. Keys are ranked by their
  /// attention scores, with the positions at which the row saw the keys. Methods that move keys
  /// store them raw. For these methods, query and keys are compared without positions.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// Returns the prompt tokens to which reply token `index` attended. The list is empty for index
  /// 0, because a row of the prompt computed the logits of the first token.
  std::span<const LookedAt> of(size_t index) const;
  /// Returns whether any reply token attended to the prompt.
  bool saw_anything() const { return saw_anything_; }
  /// Returns whether query and keys were compared without positions, because the method moves its
  /// keys.
  bool without_positions() const { return without_positions_; }

 private:
  /// Keys to which several observed heads attend in one task.
  struct Look {
    TopKeysTask keys;
    int list = 0;  ///< index of the list in the store
  };
  /// One of the highest-scoring keys of a head, among the keys that a row saw in a layer.
  struct Candidate {
    int head = 0;
    int64_t token = 0;
    float score = 0;
  };
  void add_looks(const LayerStep& step, const AttendTask& task, KeySegment segment);
  void add_look(const LayerStep& step, const Look& more);
  /// Adds the highest-scoring keys of looks_ to candidates_.
  void look(const LayerStep& step);
  /// Adds the best candidates of the current row and layer to looked_at_. Replaces the result of an
  /// earlier call for the same row and layer.
  void count(const LayerStep& step);

  std::vector<ObservedHead> heads_;
  int64_t prompt_tokens_;
  bool saw_anything_ = false, without_positions_ = false;
  std::vector<std::vector<LookedAt>> looked_at_;  ///< per reply token
  std::vector<Look> looks_;                       ///< tasks whose heads do not overlap
  // The current row and layer. A method may attend to the keys of a row in several calls.
  int64_t row_ = -1;
  int layer_ = -1;
  size_t counted_ = 0;  ///< number of tokens that earlier layers added for the row
  std::vector<Candidate> candidates_;
  std::vector<int32_t> keys_;
  std::vector<float> scores_;
  Array<float> rotated_;  ///< rotated queries of a step
};

}  // namespace longhaul
