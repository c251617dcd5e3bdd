#pragma once
// The interface between attention.cc and the attention kernels of the instruction-set levels. A
// unit is the part of a task that one thread computes at a time. A flat row is the query of one
// head of one query row.

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"
#include "ops/attention/host_call.h"
#include "ops/core/isa/per_isa.h"

namespace longhaul {

inline constexpr int kTileRows = 32;   ///< flat rows per matrix product
inline constexpr int kTileKeys = 128;  ///< keys that are packed into the format of matrix products
                                       ///< at a time
/// Largest number of flat rows in a unit of the prefill kernel. Each block of keys is packed once
/// for all flat rows of the unit.
inline constexpr int kUnitRows = 384;
/// Largest number of flat rows in a unit of the decode kernel. Memory bandwidth limits this kernel,
/// so larger units would not be faster.
inline constexpr int kDecodeRows = 8;
inline constexpr int kMostHeadDim = 2048;  ///< largest number of elements of a key, or of several
                                           ///< concatenated keys

/// A part of a task that one thread computes. Flat row f belongs to query row
/// row_begin + f / head_count and query head head_begin + f % head_count. Neighbouring flat rows
/// therefore read the same keys.
struct AttendUnit {
  const HostCall* call;
  const KeySegment* segments;
  int segment_count;
  int head_begin, head_count;
  int row_begin, row_count;
  int64_t row_position;
  // A decode unit may cover only keys [key_begin, key_begin + key_count), counted over all its
  // segments. It then writes a partial result instead of `out`.
  int64_t key_begin, key_count;
  /// [flat rows, head_dim] sums of weights times values, where a weight is 2^(logit - largest
  /// logit). Null if the unit writes `out`.
  float* partial_out;
  float* partial_max;  ///< [flat rows] largest logit in base 2
  float* partial_sum;  ///< [flat rows] sum of the weights
};

struct AttentionKernels {
  /// Returns the size in bytes of the scratch memory that tile() needs for `flat_rows` flat rows.
  size_t (*tile_scratch_bytes)(const HostCall& call, int flat_rows);
  /// Computes a unit of prefill rows. Packs the keys and values block by block, and multiplies
  /// tiles of flat rows by each block in bf16 or f32.
  void (*tile)(const AttendUnit& unit, std::byte* scratch);
  /// decode() computes a unit of at most kDecodeRows flat rows. It reads each key and value once,
  /// directly from its page. decode_scratch_bytes() returns the size in bytes of its scratch
  /// memory.
  size_t (*decode_scratch_bytes)(const HostCall& call);
  void (*decode)(const AttendUnit& unit, std::byte* scratch);
};

LH_PER_ISA(AttentionKernels, kAttentionKernels)

}  // namespace longhaul
