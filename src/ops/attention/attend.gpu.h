#pragma once
// Softmax attention on a CUDA device. It computes the same as attend() in
// ops/attention/attention.h. All addresses in a call are device addresses unless stated otherwise
// below.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ops/attention/attention.h"

struct CUstream_st;

namespace longhaul::cuda {

/// The address range of a device's KV pages. Every page begins at a multiple of `page_bytes` bytes
/// from `base`. `page_bytes` is a multiple of 256. Hopper's copy engine reads the pages of this
/// range by their numbers. Parts of the range may be unmapped and are never accessed.
struct PageRange {
  const std::byte* base = nullptr;
  size_t bytes = 0;
  size_t page_bytes = 0;

  /// Returns whether the copy engine can read this page if its rows have `head_dim` bf16 values.
  bool holds(const std::byte* page, int head_dim) const {
    const size_t at = reinterpret_cast<uintptr_t>(page) - reinterpret_cast<uintptr_t>(base);
    // Fast path: most page strides are powers of two, so a mask replaces the modulo.
    const bool power = std::has_single_bit(page_bytes);
    return page_bytes >= size_t{256} * static_cast<size_t>(head_dim) && at < bytes &&
           bytes - at >= page_bytes && (power ? at & (page_bytes - 1) : at % page_bytes) == 0;
  }
};

/// Buffers that attend() keeps between calls: pinned host memory for plans, and device memory for
/// plans and partial results. Each stream needs its own Scratch. It belongs to the device that is
/// current at construction and must outlive the pending work of the stream.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// The pages that the copy engine may read. If the range is empty, attention reads pages without
  /// the copy engine.
  PageRange pages;
  /// If true (the default), the wgmma kernel is used where possible. Tests and benchmarks set it to
  /// false.
  bool allow_sm90 = true;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Returns whether attend() supports heads of `head_dim` elements and pages of `page_rows` rows of
/// `type`. It supports 64, 80, 96, 112, 128 and 256 elements, 64 rows, and every type of keys and
/// values. For block types, head_dim must be a multiple of the block size. On Hopper it also
/// supports 512 elements, and 576 elements whose last 512 are the value
/// (PagedRows::values_in_keys). In the latter case, the output of the first 64 elements is zero.
bool can_attend(int head_dim, int page_rows, const KvType& type);
/// Returns whether heads of this size are computed only by the kernel for wide heads.
inline bool is_wide(int head_dim) { return head_dim > 256; }

/// Queues the tasks on `stream` and returns without waiting. Memory of each part of the call:
///   - queries, out, lse, sinks, the tables of rotations: device memory;
///   - KeySegment::index: device or host memory (its place() says which);
///   - PagedRows::pages: a host array of device addresses of 16-byte aligned pages. If
///     PagedRows::listed is not null, it is a copy of the array in device memory, and nothing is
///     uploaded. An index in device memory needs `listed`, since only the device can read the page
///     numbers. Lists of whole pages are always in device memory;
///   - KeySegment::device_count and ::count_after, AttendCall::counted: device memory.
/// Positions must lie within +-2^29. Products are bf16 x bf16 with f32 sums for every value of
/// `compute`.
void attend(CUstream_st* stream, const AttendCall& call, std::span<const AttendTask> tasks,
            Scratch& scratch);

/// Queues the calls of several sequences as one call. It computes the same as attend() of
/// AttendJobs (ops/attention/attention.h). The jobs must have been grouped by take_joinable().
void attend(CUstream_st* stream, std::span<const AttendJob> jobs, Scratch& scratch);

}  // namespace longhaul::cuda
