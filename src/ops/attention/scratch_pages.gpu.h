#pragma once
// Pages of bf16 keys and values that operations gather rows into, for kernels to read them by whole
// pages. They lie among the KV store's, where the copy engine of Hopper finds them.

#include <cstddef>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/core/gpu/room.h"

namespace longhaul::cuda {

class ScratchPages {
 public:
  explicit ScratchPages(GpuQueue& queue) : queue_(queue) {}
  ~ScratchPages();
  ScratchPages(const ScratchPages&) = delete;
  ScratchPages& operator=(const ScratchPages&) = delete;

  /// Pages of rows of `head_dim` numbers from now on, `most_bytes` of them or more. Rows that were
  /// gathered before are gone, and so is what rows_from() returned.
  void set_form(int head_dim, size_t most_bytes);
  /// Room for so many pages; false where the device or the bound has none.
  bool reserve(int64_t pages);
  /// Rows that begin with page number `first`.
  PagedRows rows_from(int64_t first) const;
  /// The same pages, to be written.
  std::byte* const* listed_from(int64_t first) const {
    return static_cast<std::byte* const*>(table_.data) + first;
  }

 private:
  GpuQueue& queue_;
  size_t most_pages_ = 0;  ///< that the lists have room for
  int head_dim_ = 0;
  std::vector<void*> slabs_;
  std::vector<const std::byte*> pages_;  ///< of all slabs; in `table_`, too
  Room table_{queue_};
};

}  // namespace longhaul::cuda
