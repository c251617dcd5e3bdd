#pragma once
// Finds the sources of a reply: the keys that a few heads attended to while its tokens were chosen.
// This is a second, cheap pass over those heads' keys and does not change the attention.

#include <cstdint>
#include <span>
#include <vector>

#include "attention/step.h"
#include "base/array.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

/// An observed query head and the weight of its attention.
struct ObservedHead {
  int layer = 0, head = 0;
  float weight = 1;
};

/// The retrieval heads of the model's profile for ltri, which find the tokens that replies copy.
/// Without a profile all heads of a few layers after the middle are used.
std::vector<ObservedHead> heads_to_watch(const ModelShape& shape);

/// The least share of the attention on the texts that the first passage of a well-founded reply
/// has: option rests_at of the model's profile "sources" (`eval --sources --save-sources` writes
/// it), else a default.
double least_share_of_first_passage(const ModelShape& shape);

/// A token of the prompt, and its share of the attention when a token of the reply was chosen.
struct LookedAt {
  int64_t token = 0;
  float share = 0;
};

class SourceWatch {
 public:
  SourceWatch(const ModelShape& shape, std::vector<ObservedHead> heads, int64_t prompt_tokens);

  /// For Session::observe. Keys are ranked as the row saw them. Methods that move keys store them
  /// raw; there query and keys are compared without positions, as ReAttention looks keys up.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// The tokens that the reply's token `index`, from 0 on, attended to. Token 0 has none, because a
  /// row of the prompt chose it.
  std::span<const LookedAt> of(size_t index) const;
  bool saw_anything() const { return saw_anything_; }
  /// Whether query and key were compared without positions, because the method moves its keys.
  bool without_positions() const { return without_positions_; }

 private:
  /// Keys that observed heads attend to together.
  struct Look {
    TopKeysTask keys;
    int list = 0;  ///< the store's list
  };
  /// One of the best keys of a head, among those that a row saw in a layer.
  struct Candidate {
    int head = 0;
    int64_t token = 0;
    float score = 0;
  };
  void add_looks(const LayerStep& step, const AttendTask& task, KeySegment segment);
  void add_look(const LayerStep& step, const Look& more);
  /// Finds the best keys of looks_.
  void look(const LayerStep& step);
  /// Counts the best of all candidates of the row and layer, in place of an earlier count.
  void count(const LayerStep& step);

  std::vector<ObservedHead> heads_;
  int64_t prompt_tokens_;
  bool saw_anything_ = false, without_positions_ = false;
  std::vector<std::vector<LookedAt>> looked_at_;  ///< by the reply's token
  std::vector<Look> looks_;                       ///< heads that do not overlap
  // The row and layer at present. A method may attend to a row's keys in several calls.
  int64_t row_ = -1;
  int layer_ = -1;
  size_t counted_ = 0;  ///< tokens that earlier layers added to the row's
  std::vector<Candidate> candidates_;
  std::vector<int32_t> keys_;
  std::vector<float> scores_;
  Array<float> rotated_;  ///< a step's queries, rotated
};

}  // namespace longhaul
