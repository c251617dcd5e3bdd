#pragma once
// The last query rows of a prompt, kept until the rows of the lists are judged, and how much
// attention they paid to every key.

#include <vector>

#include "attention/step.h"
#include "ops/row_window.h"

namespace longhaul {

class ObservedRows {
 public:
  ObservedRows(const ModelShape& shape, int64_t rows);

  /// What `rows` rows of a model of this shape take.
  static size_t bytes_for(const ModelShape& shape, int64_t rows);

  void clear();
  /// Takes the last rows of a step that was attended by its plan, with step.lse. Rows of earlier
  /// positions stay as far as there is room.
  void add(const LayerStep& step);

  int64_t count(int layer) const { return layers_[static_cast<size_t>(layer)].queries.rows(); }

  /// Writes to paid[list] [rows of the list]: the probability that its keys got from the observed
  /// rows of the list's query heads, summed. The observed rows must be the list's last ones and
  /// nothing that they saw may have left it. Keys stand as `place` says.
  void attention_paid(Queue& queue, const KvStore& store, int layer, KeyPlace place,
                      std::span<const View<float>> paid);

 private:
  struct Layer {
    RowWindow queries;  ///< [rows, heads * head_dim], as they were rotated
    RowWindow lse;      ///< [rows, heads]
    int64_t end = 0;    ///< position after the last of them
  };

  const ModelShape* shape_;
  int64_t most_;
  AttendCompute compute_ = AttendCompute::kBest;
  std::vector<Layer> layers_;
  RotationBuffer rotations_;
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  std::vector<ColumnTarget> targets_;
};

}  // namespace longhaul
