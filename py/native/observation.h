#pragma once
// The keys that rows attend to, for research: which tokens each row of a reply sees, by layer and
// query head.

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "attention/step.h"

namespace longhaul::python {

class Observation {
 public:
  /// `prompts`: rows of prompts are recorded too. Recording ends after `most_keys` keys.
  Observation(bool prompts, int64_t most_keys) : prompts_(prompts), most_keys_(most_keys) {}

  /// For Sequence::observe.
  void observe(const LayerStep& step, std::span<const AttendTask> tasks);

  /// One row of a task: query heads [head, head + heads) of the layer at a position of the context
  /// attend to keys [begin, end) of keys().
  struct Row {
    int32_t layer, head, heads;
    int64_t position;
    int64_t begin, end;
  };
  struct Seen {
    std::vector<Row> rows;
    std::vector<int32_t> keys;  ///< token numbers of the context, ascending within a segment
    bool complete = true;       ///< false: recording ended at most_keys
    int64_t unknown = 0;        ///< rows whose keys are not those of a list of the store
  };
  Seen take();

 private:
  void add(const LayerStep& step, const AttendTask& task, int row);
  bool add_keys(const LayerStep& step, const KeySegment& shown, int64_t position);

  bool prompts_;
  int64_t most_keys_;
  std::mutex mutex_;
  Seen seen_;
};

}  // namespace longhaul::python
