#pragma once
// Pages into which operations gather keys and values in bf16, so that kernels can read whole pages.
// These pages are allocated in the address range of the KV store's pages, where the tensor memory
// accelerator (TMA) of Hopper GPUs can read them.

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

  /// Sets the size of keys and values to `head_dim` elements, and allows all pages together to use
  /// at least `most_bytes` bytes. Gathered rows and earlier results of rows_from() become invalid.
  void set_form(int head_dim, size_t most_bytes);
  /// Ensures that `pages` pages exist. Returns false if the device has too little memory or the
  /// limit would be exceeded.
  bool reserve(int64_t pages);
  /// Returns a description of the rows in page `first` and all following pages.
  PagedRows rows_from(int64_t first) const;
  /// Returns the device array of page addresses, from page `first` on, for kernels that write the
  /// pages.
  std::byte* const* listed_from(int64_t first) const {
    return static_cast<std::byte* const*>(table_.data) + first;
  }

 private:
  GpuQueue& queue_;
  size_t most_pages_ = 0;  ///< largest number of pages
  int head_dim_ = 0;
  std::vector<void*> slabs_;
  std::vector<const std::byte*> pages_;  ///< addresses of the pages in all slabs; `table_` is a
                                         ///< copy on the device
  Room table_{queue_};
};

}  // namespace longhaul::cuda
