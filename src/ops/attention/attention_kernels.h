#pragma once
// The interface between attention.cc and the attention kernels of an instruction-set level. A unit
// is the part of a task that one thread computes.

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"
#include "ops/attention/host_call.h"
#include "ops/core/isa/per_isa.h"

namespace longhaul {

inline constexpr int kTileRows = 32;   ///< (row, query head) rows per matrix product
inline constexpr int kTileKeys = 128;  ///< keys that are packed at a time
/// Largest number of (row, query head) rows that use a packed block of keys.
inline constexpr int kUnitRows = 384;
/// Largest number of (row, query head) rows of the decode kernel, which is limited by memory
/// bandwidth.
inline constexpr int kDecodeRows = 8;
inline constexpr int kMostHeadDim = 2048;  ///< elements of a key, or of several concatenated keys

/// A part of a task that one thread computes. A flat row is a pair of a row and a query head. Flat
/// row f is row row_begin + f / head_count with query head head_begin + f % head_count.
/// Neighbouring flat rows therefore read the same keys.
struct AttendUnit {
  const HostCall* call;
  const KeySegment* segments;
  int segment_count;
  int head_begin, head_count;
  int row_begin, row_count;
  int64_t row_position;
  // A decode unit may cover only keys [key_begin, key_begin + key_count) of the concatenated
  // segments. In that case it writes a partial result instead of `out`.
  int64_t key_begin, key_count;
  /// [flat rows, head_dim] sums of exp2 weights times values; null: the unit writes `out`.
  float* partial_out;
  float* partial_max;  ///< [flat rows] largest logit in base 2
  float* partial_sum;  ///< [flat rows] sum of the weights
};

struct AttentionKernels {
  /// Returns the scratch bytes that `tile` needs for a unit of `flat_rows` rows.
  size_t (*tile_scratch_bytes)(const HostCall& call, int flat_rows);
  /// Computes a unit of prefill rows. Packs keys block by block and multiplies them in tiles of
  /// bf16 or f32.
  void (*tile)(const AttendUnit& unit, std::byte* scratch);
  /// decode() computes a unit of at most kDecodeRows rows. It reads keys and values once, directly
  /// from the pages. decode_scratch_bytes() returns the scratch bytes that it needs.
  size_t (*decode_scratch_bytes)(const HostCall& call);
  void (*decode)(const AttendUnit& unit, std::byte* scratch);
};

LH_PER_ISA(AttentionKernels, kAttentionKernels)

}  // namespace longhaul
