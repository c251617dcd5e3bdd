#pragma once
// Where a reply came from: the keys that a few heads looked at while its tokens were chosen. A
// second, cheap pass over those heads' keys; the attention itself is left alone.

#include <cstdint>
#include <span>
#include <vector>

#include "attention/step.h"
#include "base/array.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

/// A query head that is watched, and how much what it looks at counts.
struct ObservedHead {
  int layer = 0, head = 0;
  float weight = 1;
};

/// The retrieval heads of the model's profile for ltri, which find what replies copy; without one
/// all heads of a few layers behind the middle.
std::vector<ObservedHead> heads_to_watch(const ModelShape& shape);

/// The least share of the attention on the texts that the first passage of a well-founded reply
/// has: option rests_at of the model's profile "sources" (`eval --sources --save-sources` writes
/// it), else a default.
double least_share_of_first_passage(const ModelShape& shape);

/// A token of the prompt, and the share of what was looked at when a token of the reply was chosen.
struct LookedAt {
  int64_t token = 0;
  float share = 0;
};

class SourceWatch {
 public:
  SourceWatch(const ModelShape& shape, std::vector<ObservedHead> heads, int64_t prompt_tokens);

  /// For Session::observe. Looks where the keys that the heads see are in memory, at their own
  /// places of the text; methods that move them show nothing.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// What the reply's token `index`, from 0 on, looked at. Nothing for token 0, which a row of the
  /// prompt chose.
  std::span<const LookedAt> of(size_t index) const;
  bool saw_anything() const { return saw_anything_; }

 private:
  /// Keys that watched heads look at together.
  struct Look {
    TopKeysTask keys;
    int list = 0;  ///< the store's
  };
  void add_look(const LayerStep& step, const AttendTask& task, const KeySegment& segment);
  /// Ranks the keys of looks_ and counts what was seen.
  void look(const LayerStep& step);

  std::vector<ObservedHead> heads_;
  int64_t prompt_tokens_;
  bool saw_anything_ = false;
  std::vector<std::vector<LookedAt>> looked_at_;  ///< by the reply's token
  std::vector<Look> looks_;                       ///< of heads that do not overlap
  std::vector<int32_t> keys_;
  std::vector<float> scores_;
  Array<float> rotated_;  ///< a step's queries
};

}  // namespace longhaul
