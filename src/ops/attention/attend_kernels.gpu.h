#pragma once
// Arguments and launch functions of the attention kernels, which attend.cu uses. A unit is the set
// of rows, heads and keys that one thread block computes (attend_records.h). A flat row is the
// query of one head of one query row.

#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "ops/attention/attend_records.h"
#include "ops/attention/rope.h"

struct CUstream_st;

namespace longhaul::cuda {

/// Cosines and sines of the rotations (RoPE) at consecutive positions, beginning with `first`. Each
/// array is [positions, half], where `half` is the number of rotated pairs of elements in a head.
struct RotationTable {
  const float* cosine;
  const float* sine;
  int64_t first;
  int32_t half;
  bool in_eights;  ///< whether `half` is a multiple of 8 and both arrays are 16-byte aligned
};

/// Converts `r` to the kernels' RotationTable. If `r` is null, all fields of the result are zero.
inline RotationTable rotation_table(const longhaul::Rotations* r) {
  if (r == nullptr) return {};
  const auto aligned = [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  const int half = r->rotary_dim / 2;
  return {r->cosine, r->sine, r->first, half,
          half % 8 == 0 && aligned(r->cosine) && aligned(r->sine)};
}

/// Calls f with `head_dim` as a compile-time constant. head_dim must be a value up to 256 that
/// can_attend() supports.
template <class F>
void with_head_dim(int head_dim, F&& f) {
  switch (head_dim) {
    case 64:
      return f(std::integral_constant<int, 64>());
    case 80:
      return f(std::integral_constant<int, 80>());
    case 96:
      return f(std::integral_constant<int, 96>());
    case 112:
      return f(std::integral_constant<int, 112>());
    case 128:
      return f(std::integral_constant<int, 128>());
    default:
      return f(std::integral_constant<int, 256>());
  }
}

inline constexpr float kLog2OfE = 1.44269504089f;

/// Converts the dot product x of a query and a key to a logit in base 2: scale * x, or
/// scale * tanh(bend * x) if the model caps logits.
struct LogitForm {
  float scale, bend;  ///< bend is 0 if the model does not cap logits
};

/// Returns the LogitForm of an AttendCall with this scale and cap.
inline LogitForm logit_form(float scale, float cap) {
  return cap > 0 ? LogitForm{cap * kLog2OfE, scale / cap} : LogitForm{scale * kLog2OfE, 0};
}

struct AttendArgs {
  const SegmentRecord* segments;
  float* out;          ///< [rows, heads, head_dim]
  float* lse;          ///< [rows, heads], or null
  const float* sinks;  ///< [heads] logits of the sinks to base e, or null
  float* partial;      ///< partial results of the parts of units (UnitRecord::part)
  /// UnitRecord::counter is an index in this array. A counter is the number of finished parts of a
  /// unit. It must be zero before the launch.
  int32_t* counters;
  RotationTable rotations;
  int32_t heads, head_dim;
  LogitForm logits;
};

/// The KV pages as a tensor map for the tensor memory accelerator (TMA) of Hopper GPUs. The tensor
/// is [pages, 128, head_dim] in bf16. The 128 rows of a page are 64 keys, then 64 values. The TMA
/// copies boxes of 64 rows and 64 columns, and fills columns beyond head_dim with zeros.
struct PageMap {
  CUtensorMap map;
  const std::byte* base;
  uint32_t page_units;  ///< distance between the beginnings of two pages, in units of 256 bytes
};

/// Segments and units for the decode kernel. Short plans are passed as kernel arguments. A copy to
/// device memory before the launch would take longer than the launch itself (8 us instead of 2 us
/// on an H100). The arguments of a kernel are limited to 4 KB.
struct DecodePlan {
  static constexpr size_t kMostHere = 3840;
  const std::byte* packed;  ///< plan in device memory; null if the plan is in `here`
  uint32_t units;           ///< byte offset of the units in the plan; the segments have offset 0
  int32_t count;            ///< number of units
  /// The largest sizes in bytes of a key row and of a value row. Both are 0 if all keys and values
  /// are bf16.
  int32_t key_bytes, value_bytes;
  bool blocks;  ///< whether all segments are consecutive rows in block formats (Q8_0, Q4_0), with
                ///< keys that are not rotated when they are read
  bool turns;   ///< whether some segment has keys that RoPE rotates when they are read, at
                ///< consecutive positions
  alignas(16) std::byte here[kMostHere];
};
static_assert(sizeof(AttendArgs) + sizeof(DecodePlan) + 16 <= 4096);

/// Limits of the device's shared memory. They determine how many tiles can be loaded at the same
/// time.
struct DeviceLimits {
  int shared_per_block = 0;      ///< bytes that a thread block may request
  int shared_per_processor = 0;  ///< bytes per multiprocessor
};
/// The functions below launch the kernels. Unless stated otherwise, a kernel has one thread block
/// per unit. `count` is the number of units.
void launch_attend_tile(CUstream_st* stream, const AttendArgs& args, const UnitRecord* units,
                        int count, int head_dim);
/// Launches the kernel for heads for which is_wide() is true (attend.gpu.h). Units have at most
/// kWideUnitRows rows. `pages.base` is null if the TMA cannot read the pages (wide_page_map()).
void launch_attend_wide(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                        const UnitRecord* units, int count, int head_dim);
void launch_attend_tile_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                             const UnitRecord* units, int count, int head_dim);
/// Like launch_attend_tile_sm90(), for segments with masks (SegmentRecord::masks).
void launch_attend_masked_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                               const UnitRecord* units, int count, int head_dim);
/// Launches the decode kernel with one thread block for each part of each unit. `blocks` is the
/// number of all parts.
void launch_attend_decode(CUstream_st* stream, const AttendArgs& args, const DecodePlan& plan,
                          int blocks, const DeviceLimits& limits);
/// Calls resolve_count() (attend_records.h) for each record, which completes segments whose number
/// of keys an earlier operation on the device has determined. If `pairs` is not null, adds the
/// number of visible (row, head, key) triples in these segments to *pairs.
void launch_resolve_counts(CUstream_st* stream, const CountRecord* counts, int count,
                           SegmentRecord* segments, int64_t* pairs);
/// Merges the partial results of unit parts. most_rows is the largest number of flat rows in a
/// merge, and most_parts the largest number of parts.
void launch_merge_parts(CUstream_st* stream, const AttendArgs& args, const MergeRecord* merges,
                        int count, int most_rows, int most_parts, int head_dim);

}  // namespace longhaul::cuda
