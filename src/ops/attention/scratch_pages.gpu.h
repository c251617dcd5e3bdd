#pragma once
// Pages into which operations gather keys and values in bf16, so that kernels can read whole pages.
// They are allocated among the pages of the KV store, where Hopper's copy engine can read them.

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

  /// Sets the row size of the pages to `head_dim` elements, and allows at least `most_bytes` bytes
  /// of pages. Gathered rows and earlier results of rows_from() become invalid.
  void set_form(int head_dim, size_t most_bytes);
  /// Ensures that `pages` pages exist. Returns false if the device has no memory for them or the
  /// limit is exceeded.
  bool reserve(int64_t pages);
  /// Returns a list that begins with page number `first`.
  PagedRows rows_from(int64_t first) const;
  /// Returns the device array of page addresses from page `first` on, for writing.
  std::byte* const* listed_from(int64_t first) const {
    return static_cast<std::byte* const*>(table_.data) + first;
  }

 private:
  GpuQueue& queue_;
  size_t most_pages_ = 0;  ///< capacity of the lists
  int head_dim_ = 0;
  std::vector<void*> slabs_;
  std::vector<const std::byte*> pages_;  ///< all pages of the slabs; `table_` has a copy
  Room table_{queue_};
};

}  // namespace longhaul::cuda
