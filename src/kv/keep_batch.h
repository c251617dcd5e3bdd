#pragma once
// KeepBatch collects evictions of a few rows from the lists of several KV stores, for one layer. A
// device then moves the kept rows of all stores in one operation. A list holds the stored rows
// (keys and values) of one KV head in one layer.

#include <span>
#include <vector>

#include "kv/kv_store.h"
#include "ops/attention/row_moves.h"

namespace longhaul {

class KeepBatch {
 public:
  /// Adds lists of a layer with the rows that they keep, as in KvStore::keep(). The row numbers
  /// must be in device memory. run() will move the rows within the pages of their list. Returns
  /// false, without changes, in these cases: the store's device has no such operation, pages have
  /// other owners, or a list loses no rows or more rows than a page holds. The caller must then
  /// call KvStore::keep(), which moves rows to new pages.
  bool add(KvStore& store, int layer, std::span<const KeptList> lists);
  /// Moves all rows, shortens the lists and clears the batch. Returns false, without changes to the
  /// stores, if the device does not support the moves.
  bool run(Queue& queue);
  void clear();

 private:
  friend class KvStore;
  bool add(KvStore& store, int layer, std::span<const KvStore::Chosen> lists);
  static bool fits(const KvStore& store, int layer, std::span<const KvStore::Chosen> lists);
  void add_list(KvStore& store, int layer, const KvStore::Chosen& list);
  void shorten();

  /// A list that becomes shorter, and the token numbers of the rows that it keeps.
  struct Shorter {
    KvStore* store;
    KvStore::Head* head;
    KvStore::ChosenTokens tokens;
  };
  std::vector<Shorter> lists_;
  std::vector<KeptRows> rows_;
  std::vector<KeptNumbers> numbers_;
  std::vector<KvStore::Chosen> chosen_;
};

}  // namespace longhaul
