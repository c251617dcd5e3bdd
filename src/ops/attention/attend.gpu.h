#pragma once
// Softmax attention on a CUDA device: attend() of ops/attention/attention.h, with the same meaning.
// All addresses in the call are device addresses, except where it says otherwise below.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ops/attention/attention.h"

struct CUstream_st;

namespace longhaul::cuda {

/// Where a device's pages lie: each at a multiple of `page_bytes` (256 or a multiple of it) from
/// `base`, all of them in one address range. The copy engine of Hopper reads pages of such a range
/// by their numbers; what of the range is no memory is never touched.
struct PageRange {
  const std::byte* base = nullptr;
  size_t bytes = 0;
  size_t page_bytes = 0;

  /// Whether the copy engine can read this page, of rows of `head_dim` bf16 numbers.
  bool holds(const std::byte* page, int head_dim) const {
    const size_t at = reinterpret_cast<uintptr_t>(page) - reinterpret_cast<uintptr_t>(base);
    // Most strides of pages are powers of two, by which nothing need be divided.
    const bool power = std::has_single_bit(page_bytes);
    return page_bytes >= size_t{256} * static_cast<size_t>(head_dim) && at < bytes &&
           bytes - at >= page_bytes && (power ? at & (page_bytes - 1) : at % page_bytes) == 0;
  }
};

/// What attend() keeps from call to call: pinned host memory for plans, device memory for plans and
/// partial results. One for each stream, on the device that is current when it is made; it must
/// outlive the work that the stream still has.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Empty until it is set: attention then reads pages without the copy engine.
  PageRange pages;
  /// For tests and benchmarks: the wgmma kernel may be used where it can be. On by default.
  bool allow_sm90 = true;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Whether attend() takes heads of `head_dim` elements and pages of `page_rows` rows of `type`: 64,
/// 80, 96, 112, 128 and 256 elements, 64 rows, and every type of keys and of values (block types
/// where they have whole blocks).
bool can_attend(int head_dim, int page_rows, const KvType& type);

/// Queues the tasks on `stream` and returns; nothing waits. What each part of the call is:
///   - queries, out, lse, sinks, the rotations' numbers: in device memory;
///   - KeySegment::index: in device or in host memory (its place() says which);
///   - PagedRows::pages: a host array of device addresses, 16-byte aligned pages. Where PagedRows
///     has a field `listed` that is not null, it is the same array in device memory and nothing is
///     uploaded. An index in device memory needs `listed`, since only the device knows which pages
///     it names; lists of whole pages are such;
///   - KeySegment::live and ::behind, AttendCall::counted: in device memory.
/// Positions lie within +-2^29. Products are bf16 x bf16 with f32 sums, whatever `compute` says.
void attend(CUstream_st* stream, const AttendCall& call, std::span<const AttendTask> tasks,
            Scratch& scratch);

}  // namespace longhaul::cuda
