#pragma once
// Evictions after generated tokens of several sequences in one layer, gathered so that a device
// scores, selects and moves the rows of all of them with a few launches.

#include <span>
#include <vector>

#include "kv/keep_batch.h"
#include "ops/choose/select_rows.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

/// The lists of one sequence in a layer, of which those rows are kept that received most attention
/// from the sequence's last row.
struct DueLists {
  KvStore* store = nullptr;
  int layer = 0;
  /// Settings of the row's attention, with its queries and lse: rows of the arrays of the batch.
  AttendCall call;
  RowsToKeep keep;
  bool by_layer = false;  ///< all lists keep the rows with the highest sums over the lists
};

class EvictionBatch {
 public:
  /// Adds an eviction. Returns false, without changes, if it cannot run together with the others or
  /// the store's pages cannot keep the rows in place; the caller then evicts by itself.
  bool add(const DueLists& due);
  size_t size() const { return entries_.size(); }
  /// Removes all evictions except the first `size`.
  void shrink(size_t size) { entries_.resize(size); }
  /// Evicts rows from all lists and clears the batch.
  void run(Queue& queue);

 private:
  struct Entry {
    DueLists due;
    int row = 0;  ///< in the arrays of the batch
    size_t first_list = 0, lists = 0;
    size_t first_choice = 0, choices = 0;
  };
  bool joins_first(const DueLists& due) const;
  void find_received(Queue& queue);
  void add_up(Queue& queue);
  void select(Queue& queue);
  void keep(Queue& queue);
  /// Number of lists in all entries.
  size_t lists() const {
    return entries_.empty() ? 0 : entries_.back().first_list + entries_.back().lists;
  }

  std::vector<Entry> entries_;
  Array<float> received_, sums_;
  std::vector<View<float>> received_views_, sum_views_;
  std::vector<View<const float>> scores_;  ///< per choice: of a list, or of a layer's lists
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  std::vector<ColumnTarget> targets_;
  std::vector<RowSelection> selections_;
  std::vector<RowList> kept_;
  std::vector<KeptList> kept_lists_;
  KeepBatch moves_;
};

}  // namespace longhaul
