#pragma once
// Softmax attention on a CUDA device. Its attend() computes the same as attend() in
// ops/attention/attention.h. All addresses in its arguments are device addresses unless stated
// otherwise.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ops/attention/attention.h"

struct CUstream_st;

namespace longhaul::cuda {

/// The address range that contains the KV pages of a device. Every page begins a multiple of
/// `page_bytes` bytes after `base`. `page_bytes` is a multiple of 256. The tensor memory
/// accelerator (TMA) of Hopper GPUs, which copies pages to shared memory, addresses a page by its
/// number in this range. Some addresses of the range may be unmapped. They contain no page and are
/// never accessed.
struct PageRange {
  const std::byte* base = nullptr;
  size_t bytes = 0;
  size_t page_bytes = 0;

  /// Returns whether the TMA can read the page at address `page` if its keys and values have
  /// `head_dim` bf16 elements each.
  bool holds(const std::byte* page, int head_dim) const {
    const size_t at = reinterpret_cast<uintptr_t>(page) - reinterpret_cast<uintptr_t>(base);
    // Fast path: most page strides are powers of two, so a mask replaces the modulo.
    const bool power = std::has_single_bit(page_bytes);
    return page_bytes >= size_t{256} * static_cast<size_t>(head_dim) && at < bytes &&
           bytes - at >= page_bytes && (power ? at & (page_bytes - 1) : at % page_bytes) == 0;
  }
};

/// Memory that attend() keeps between calls: pinned host memory for plans (attend_plan.h), and
/// device memory for plans and partial results. Each stream needs its own Scratch. The memory is
/// allocated on the device that is current at construction. A Scratch must exist until the work of
/// its stream has ended.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The pages that the TMA may read. If the range is empty, the kernels load pages with ordinary
  /// instructions.
  PageRange pages;
  /// Whether to use the wgmma kernel (Hopper's warpgroup matrix instruction) where possible. Tests
  /// and benchmarks set it to false to run the other kernels.
  bool allow_sm90 = true;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Returns whether attend() supports heads of `head_dim` elements and pages of `page_rows` rows of
/// `type`. It supports heads of 64, 80, 96, 112, 128 and 256 elements, pages of 64 rows, and all
/// types of keys and values. For block types, head_dim must be a multiple of the block size. On
/// Hopper it also supports heads of 512 elements, and keys of 576 elements whose last 512 elements
/// are also the value (PagedRows::values_in_keys). Outputs for such keys have 576 elements, of
/// which the first 64 are zero.
bool can_attend(int head_dim, int page_rows, const KvType& type);
/// Returns whether only the kernel for wide heads (launch_attend_wide()) computes heads of this
/// size.
inline bool is_wide(int head_dim) { return head_dim > 256; }

/// Queues the tasks on `stream` and returns without waiting. The arrays of the call must be in the
/// following memory:
///   - queries, out, lse, sinks, the tables of rotations: device memory;
///   - KeySegment::index: device or host memory (see its place());
///   - PagedRows::pages: a host array of device addresses of 16-byte aligned pages. If
///     PagedRows::listed is not null, it is a copy of the array in device memory, and the array is
///     not uploaded. A segment with an index in device memory needs `listed`, since the host cannot
///     read to which pages the index refers. An index of whole pages is always in device memory;
///   - KeySegment::device_count and ::count_after, AttendCall::counted: device memory.
/// Positions must lie within +-2^29. Keys, values, queries and softmax weights are multiplied in
/// bf16 with f32 sums, regardless of AttendCall::compute.
void attend(CUstream_st* stream, const AttendCall& call, std::span<const AttendTask> tasks,
            Scratch& scratch);

/// Queues the calls of several sequences as one, like attend() of AttendJobs in
/// ops/attention/attention.h. take_joinable() (attend_plan.h) must have selected the jobs.
void attend(CUstream_st* stream, std::span<const AttendJob> jobs, Scratch& scratch);

}  // namespace longhaul::cuda
