#pragma once
// Pages of bf16 keys and values into which operations gather rows, so that kernels can read whole
// pages. They lie among the KV store's pages, where Hopper's copy engine can read them.

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

  /// Sets the row size of pages to `head_dim` elements. Allows at least `most_bytes` bytes of
  /// pages. Invalidates gathered rows and the results of rows_from().
  void set_form(int head_dim, size_t most_bytes);
  /// Ensures that there are `pages` pages. Returns false if the device or the bound has no room.
  bool reserve(int64_t pages);
  /// Returns the rows that begin at page number `first`.
  PagedRows rows_from(int64_t first) const;
  /// The pages for writing.
  std::byte* const* listed_from(int64_t first) const {
    return static_cast<std::byte* const*>(table_.data) + first;
  }

 private:
  GpuQueue& queue_;
  size_t most_pages_ = 0;  ///< capacity of the lists
  int head_dim_ = 0;
  std::vector<void*> slabs_;
  std::vector<const std::byte*> pages_;  ///< pages of all slabs; also in `table_`
  Room table_{queue_};
};

}  // namespace longhaul::cuda
