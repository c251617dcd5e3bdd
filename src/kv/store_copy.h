#pragma once
// StoreCopy makes a store with the contents of another one at another place: in host memory from a
// store of a device, or on a device from a store in host memory. It acquires the memory and lists
// the copies. The caller makes the copies (kv/copy_thread.h).

#include <functional>
#include <memory>
#include <vector>

#include "kv/kv_store.h"

namespace longhaul {

/// Two stores with the same contents at the two places of a copy. Pages that the copied store
/// shares with `here` are not copied: the new store shares those of `there`.
struct StoreTwins {
  const KvStore* here = nullptr;
  const KvStore* there = nullptr;
};

class StoreCopy {
 public:
  /// Returns an empty store in host memory whose pages come from `pages(form)`.
  static KvStore on_host(const KvLayout& layout,
                         const std::function<std::shared_ptr<PageMemory>(const RowForm&)>& pages);
  /// Returns whether all pages are in memory. Other stores cannot be copied.
  static bool can_copy(const KvStore& store);

  /// Returns whether the pages are in pinned memory (PinnedPages).
  static bool is_pinned(const KvStore& store);

  /// `to` is an empty store with the same layout. `from` must keep its contents until all copies
  /// have been made. The constructor is called on the thread that uses both stores.
  StoreCopy(const KvStore& from, KvStore to, const StoreTwins& twins);

  /// Returns the copies of small arrays, such as token numbers. Their host memory is not pinned.
  const std::vector<DeviceBytes>& arrays() const { return arrays_; }
  /// Returns the bytes of the pages that next() has not acquired yet.
  size_t pages_left() const { return left_; }
  /// Acquires pages of about `bytes` bytes, and appends their copies. May be called on another
  /// thread than the constructor if the new store is in host memory. Throws std::bad_alloc, or
  /// UserError of the device.
  void next(size_t bytes, std::vector<DeviceBytes>& copies);
  /// Returns the new store. All copies must have been made.
  KvStore take();

 private:
  struct List {
    std::vector<std::byte*> pages;  ///< addresses in `from`
  };
  void begin_list(size_t list, const KvStore& from, const StoreTwins& twins);

  KvStore to_;
  std::vector<List> lists_;
  std::vector<DeviceBytes> arrays_;
  size_t list_ = 0;  ///< next() continues with this list
  size_t left_ = 0;
};

}  // namespace longhaul
