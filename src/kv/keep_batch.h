#pragma once
// Evictions of a few rows from the lists of several stores in one layer, which a device runs as one
// operation.

#include <span>
#include <vector>

#include "kv/kv_store.h"
#include "ops/attention/row_moves.h"

namespace longhaul {

class KeepBatch {
 public:
  /// Adds lists of a layer, of which these rows stay, as in KvStore::keep(). A device has selected
  /// the rows. They move within the pages of their list. Returns false, without changes, if the
  /// store's device does not move rows, if pages have other owners, or if more rows leave a list
  /// than a page holds: KvStore::keep() then moves rows to new pages.
  bool add(KvStore& store, int layer, std::span<const KeptList> lists);
  /// Moves all rows and clears the batch. The stores then have their new lengths. Returns false,
  /// without changes, if the device refuses.
  bool run(Queue& queue);
  void clear();

 private:
  friend class KvStore;
  bool add(KvStore& store, int layer, std::span<const KvStore::Chosen> lists);
  static bool fits(const KvStore& store, int layer, std::span<const KvStore::Chosen> lists);
  void add_list(KvStore& store, int layer, const KvStore::Chosen& list);
  void shorten();

  /// A list that becomes shorter, and its tokens then.
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
