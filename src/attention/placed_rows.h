#pragma once
// The step that methods share which forget rows of their lists: append, attend to what is kept,
// and see how much attention every row got. Keys stand where the text has them, or at their index
// in the list.

#include <span>
#include <string_view>
#include <vector>

#include "attention/method.h"
#include "ops/column_sums.h"

namespace longhaul {

enum class Placement : uint8_t {
  kText,  ///< keys are rotated once, at their position in the text
  kList   ///< keys are stored raw and rotated when they are read
};

class PlacedRows {
 public:
  explicit PlacedRows(Placement placement) : placement_(placement) {}

  /// Appends the step's keys to its lists and attends all rows: to every row kept from earlier
  /// passes, causally among the new, within the model's own window. Sets step.lse.
  void attend(LayerStep& step);

  /// After attend(): adds to targets[list] the probability that the step's rows from `first_row` on
  /// gave to the first `rows` rows of each list. `alone`: normalised over those rows, not over all
  /// that were attended.
  void add_columns(const LayerStep& step, int first_row, int64_t rows,
                   std::span<const ColumnTarget> targets, bool alone = false);

  /// The same for all rows of the step and of every list, added to a column of the store.
  void add_to_column(const LayerStep& step, std::string_view name);

  /// The same for methods that judge tokens, not rows of one head: adds to sums[i] what row i of
  /// all lists together got, for the first sums.size() rows.
  void add_token_sums(const LayerStep& step, int first_row, std::span<float> sums,
                      bool alone = false);

 private:
  void attend_in_list(LayerStep& step);

  Placement placement_;
  RotationBuffer rotations_;
  const Rotations* table_ = nullptr;  ///< null with kText
  const float* queries_ = nullptr;    ///< [rows, heads, head_dim] of the step, rotated
  int64_t position_ = 0;              ///< of row 0
  Buffer<float> rotated_q_, unused_;
  std::vector<float> lse_;      ///< [rows, heads]
  std::vector<float> columns_;  ///< [lists, rows with sums]
  std::vector<KeySegment> segments_;
};

}  // namespace longhaul
