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

  /// For Session::observe. Considers heads whose keys are in memory at their own positions of the
  /// text. Methods that move keys give no result.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// The tokens that the reply's token `index`, from 0 on, attended to. Token 0 has none, because a
  /// row of the prompt chose it.
  std::span<const LookedAt> of(size_t index) const;
  bool saw_anything() const { return saw_anything_; }

 private:
  /// Keys that observed heads attend to together.
  struct Look {
    TopKeysTask keys;
    int list = 0;  ///< the store's list
  };
  void add_look(const LayerStep& step, const AttendTask& task, const KeySegment& segment);
  /// Ranks the keys of looks_ and counts what was seen.
  void look(const LayerStep& step);

  std::vector<ObservedHead> heads_;
  int64_t prompt_tokens_;
  bool saw_anything_ = false;
  std::vector<std::vector<LookedAt>> looked_at_;  ///< by the reply's token
  std::vector<Look> looks_;                       ///< heads that do not overlap
  std::vector<int32_t> keys_;
  std::vector<float> scores_;
  Array<float> rotated_;  ///< a step's queries, rotated
};

}  // namespace longhaul
