#pragma once
// KeepBatch collects evictions of a few rows from the lists of several stores in one layer. A
// device then runs all of them as one operation. A list holds the stored rows of one KV head in one
// layer.

#include <span>
#include <vector>

#include "kv/kv_store.h"
#include "ops/attention/row_moves.h"

namespace longhaul {

class KeepBatch {
 public:
  /// Adds lists of a layer with the rows that they keep, as in KvStore::keep(). A device has
  /// selected the rows. They will move within the pages of their list. Returns false, without
  /// changes, in these cases: the store's device does not move rows, pages have other owners, or a
  /// list loses more rows than a page holds. KvStore::keep() must then be used, which moves rows to
  /// new pages.
  bool add(KvStore& store, int layer, std::span<const KeptList> lists);
  /// Moves all rows and clears the batch. The stores then have their new lengths. Returns false,
  /// without changes, if the device does not support the moves.
  bool run(Queue& queue);
  void clear();

 private:
  friend class KvStore;
  bool add(KvStore& store, int layer, std::span<const KvStore::Chosen> lists);
  static bool fits(const KvStore& store, int layer, std::span<const KvStore::Chosen> lists);
  void add_list(KvStore& store, int layer, const KvStore::Chosen& list);
  void shorten();

  /// A list that becomes shorter, and the token numbers of its remaining rows.
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
