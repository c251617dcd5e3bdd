#pragma once
// HostMemory is the host memory of a device to which sequences can be moved (`--cache-host`). It is
// pinned, and copies run beside the work of the device.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "kv/copy_thread.h"
#include "kv/kv_store.h"
#include "kv/pinned_pages.h"

namespace longhaul {

class HostMemory {
 public:
  /// Returns null if the device of the queue has no side copies (base/side_copies.h), or if several
  /// devices share the model.
  static std::shared_ptr<HostMemory> make(const Queue& queue, size_t most_bytes);

  CopyThread& copies() { return thread_; }
  HostBlocks& blocks() { return *blocks_; }
  /// Returns the bytes of pages in use, and of other memory of sequences.
  size_t bytes_in_use() const;
  /// Returns an empty store whose pages are in this memory.
  KvStore make_store(const KvLayout& layout);

 private:
  HostMemory(std::shared_ptr<SideCopies> copies, size_t most_bytes);

  std::shared_ptr<HostBlocks> blocks_;
  std::map<size_t, std::shared_ptr<PinnedPages>> pages_;  ///< by the bytes of a page
  CopyThread thread_;
};

}  // namespace longhaul
