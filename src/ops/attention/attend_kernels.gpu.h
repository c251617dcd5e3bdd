#pragma once
// Arguments of the attention kernels, which attend.cu launches. A unit is the set of rows, heads
// and keys that one thread block computes (attend_records.h). A (row, head) row is the query of one
// head of one row.

#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "ops/attention/attend_records.h"
#include "ops/attention/rope.h"

struct CUstream_st;

namespace longhaul::cuda {

/// Cosines and sines [count, half] of the positions first, first + 1, and so on.
struct RotationTable {
  const float* cosine;
  const float* sine;
  int64_t first;
  int32_t half;
  bool in_eights;  ///< whether half is a multiple of 8 and the rows are 16-byte aligned
};

/// Converts `r` to the format of kernels. If `r` is null, all fields of the result are zero.
inline RotationTable rotation_table(const longhaul::Rotations* r) {
  if (r == nullptr) return {};
  const auto aligned = [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  const int half = r->rotary_dim / 2;
  return {r->cosine, r->sine, r->first, half,
          half % 8 == 0 && aligned(r->cosine) && aligned(r->sine)};
}

/// Calls f with the head dimension, one of those of can_attend() up to 256, as a compile-time
/// constant.
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

/// Converts the dot product x of a query and a key to a logit in base 2: scale * x, or scale *
/// tanh(bend * x) if the model caps logits.
struct LogitForm {
  float scale, bend;  ///< bend is 0 if the model does not cap logits
};

/// Converts the scale and the cap of an AttendCall to base 2.
inline LogitForm logit_form(float scale, float cap) {
  return cap > 0 ? LogitForm{cap * kLog2OfE, scale / cap} : LogitForm{scale * kLog2OfE, 0};
}

struct AttendArgs {
  const SegmentRecord* segments;
  float* out;          ///< [rows, heads, head_dim]
  float* lse;          ///< [rows, heads], or null
  const float* sinks;  ///< [heads] natural logits, or null
  float* partial;      ///< partial results of parts (UnitRecord::part)
  /// Number of finished parts for each unit that is merged by its last part; initially zeros.
  int32_t* counters;
  RotationTable rotations;
  int32_t heads, head_dim;
  LogitForm logits;
};

/// The KV pages as a tensor map for Hopper's copy engine. The tensor is [pages, 128, head_dim] bf16
/// values and is copied in boxes of 64 rows and 64 columns. Columns beyond head_dim are filled with
/// zeros.
struct PageMap {
  CUtensorMap map;
  const std::byte* base;
  uint32_t page_units;  ///< distance between pages in units of 256 bytes
};

/// Segments and units of the decode kernel. Short plans are passed as kernel arguments, because a
/// copy before the launch would take longer than the launch itself (8 us instead of 2 us on an
/// H100). The arguments of a kernel are limited to 4 KB.
struct DecodePlan {
  static constexpr size_t kMostHere = 3840;
  const std::byte* packed;  ///< plan in device memory; null if the plan is in `here`
  uint32_t units;           ///< byte offset of the units in the plan; the segments are at offset 0
  int32_t count;            ///< number of units
  /// The largest bytes per row of keys and of values. Both are 0 if all keys and values are bf16.
  int32_t key_bytes, value_bytes;
  bool blocks;  ///< whether all segments are consecutive rows of blocks of 32 without rotation
  bool turns;   ///< whether some keys are rotated at consecutive positions
  alignas(16) std::byte here[kMostHere];
};
static_assert(sizeof(AttendArgs) + sizeof(DecodePlan) + 16 <= 4096);

/// Shared memory of the device, which limits how much data can be in flight.
struct DeviceLimits {
  int shared_per_block = 0;      ///< bytes per thread block, after opting in to the maximum
  int shared_per_processor = 0;  ///< bytes per multiprocessor
};
/// The functions below launch kernels. Unless stated otherwise, a kernel has one thread block per
/// unit.
void launch_attend_tile(CUstream_st* stream, const AttendArgs& args, const UnitRecord* units,
                        int count, int head_dim);
/// Launches the kernel for heads for which is_wide() is true (attend.gpu.h). Units have at most
/// kWideUnitRows rows. `pages` has no base if the copy engine cannot read the pages
/// (wide_page_map()).
void launch_attend_wide(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                        const UnitRecord* units, int count, int head_dim);
void launch_attend_tile_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                             const UnitRecord* units, int count, int head_dim);
/// Like launch_attend_tile_sm90(), for segments with masks (SegmentRecord::masks).
void launch_attend_masked_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                               const UnitRecord* units, int count, int head_dim);
/// Starts one thread block for each part of each unit.
void launch_attend_decode(CUstream_st* stream, const AttendArgs& args, const DecodePlan& plan,
                          int blocks, const DeviceLimits& limits);
/// Writes the lengths that the device has counted into the segments. If `pairs` is not null, adds
/// to it the number of visible pairs of rows and keys in these segments.
void launch_resolve_counts(CUstream_st* stream, const CountRecord* counts, int count,
                           SegmentRecord* segments, int64_t* pairs);
/// Merges the parts of units. most_rows is the largest number of (row, head) rows of a merge, and
/// most_parts the largest number of parts.
void launch_merge_parts(CUstream_st* stream, const AttendArgs& args, const MergeRecord* merges,
                        int count, int most_rows, int most_parts, int head_dim);

}  // namespace longhaul::cuda
