#pragma once
// EvictionBatch collects the evictions that follow a generated token in one layer, for several
// sequences. A device then scores, selects and moves the rows of all these sequences with a few
// kernel launches. A list holds the stored rows of one KV head in one layer.

#include <span>
#include <vector>

#include "kv/keep_batch.h"
#include "ops/choose/select_rows.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

/// The eviction of one sequence: the lists of one layer, which keep the rows that received most
/// attention from the sequence's last query row.
struct DueLists {
  KvStore* store = nullptr;
  int layer = 0;
  /// The attention call of the sequence's last query row. Its queries and its lse (logs of the
  /// softmax denominators) are one row of arrays that all sequences of the batch share.
  AttendCall call;
  RowsToKeep keep;
  /// Whether all lists keep the same rows. The attention that a row received is then summed over
  /// the lists.
  bool by_layer = false;
};

class EvictionBatch {
 public:
  /// Adds an eviction. Returns false, without changes, if the eviction cannot run together with the
  /// others, or if rows cannot move within the store's pages (KvStore::can_keep_in_place()). The
  /// caller must then run the eviction itself.
  bool add(const DueLists& due);
  size_t size() const { return entries_.size(); }
  /// Removes all evictions except the first `size`.
  void shrink(size_t size) { entries_.resize(size); }
  /// Runs all evictions and clears the batch.
  void run(Queue& queue);

 private:
  struct Entry {
    DueLists due;
    int row = 0;  ///< row of the sequence in the arrays of queries and lse that all sequences share
    size_t first_list = 0, lists = 0;
    size_t first_choice = 0, choices = 0;
  };
  bool joins_first(const DueLists& due) const;
  void find_received(Queue& queue);
  void add_up(Queue& queue);
  void select(Queue& queue);
  void keep(Queue& queue);
  /// Returns the number of lists in all entries.
  size_t lists() const {
    return entries_.empty() ? 0 : entries_.back().first_list + entries_.back().lists;
  }

  std::vector<Entry> entries_;
  Array<float> received_, sums_;
  std::vector<View<float>> received_views_, sum_views_;
  /// One element per selection of rows: the scores of one list, or their sums over all lists of a
  /// layer.
  std::vector<View<const float>> scores_;
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  std::vector<ColumnTarget> targets_;
  std::vector<RowSelection> selections_;
  std::vector<RowList> kept_;
  std::vector<KeptList> kept_lists_;
  KeepBatch moves_;
};

}  // namespace longhaul
