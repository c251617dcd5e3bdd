#pragma once
// Interface between attention.cc and the kernels of an ISA level.

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"
#include "ops/attention/host_call.h"
#include "ops/core/isa/per_isa.h"

namespace longhaul {

inline constexpr int kTileRows = 32;   ///< (row, query head) rows per product
inline constexpr int kTileKeys = 128;  ///< keys packed at a time
/// most (row, query head) rows that share a packed block of keys
inline constexpr int kUnitRows = 384;
/// most (row, query head) rows for the memory-bound decode kernel
inline constexpr int kDecodeRows = 8;
inline constexpr int kMostHeadDim = 2048;  ///< elements of a key, or of several concatenated keys

/// A part of a task that one thread computes. Flat row f is row row_begin + f / head_count with
/// query head head_begin + f % head_count, so that neighbouring flat rows share keys.
struct AttendUnit {
  const HostCall* call;
  const KeySegment* segments;
  int segment_count;
  int head_begin, head_count;
  int row_begin, row_count;
  int64_t row_position;
  // A decode unit may cover only keys [key_begin, key_begin + key_count) of the concatenated
  // segments. It then writes a partial result instead of `out`.
  int64_t key_begin, key_count;
  float* partial_out;  ///< [flat rows, head_dim], sum of exp2 weights times values; may be null
  float* partial_max;  ///< [flat rows] largest logit, base 2
  float* partial_sum;  ///< [flat rows]
};

struct AttentionKernels {
  /// Returns the scratch bytes that `tile` needs for a unit of `flat_rows` rows.
  size_t (*tile_scratch_bytes)(const HostCall& call, int flat_rows);
  /// Prefill: keys are packed block by block and multiplied on bf16 or f32 tiles.
  void (*tile)(const AttendUnit& unit, std::byte* scratch);
  /// Decode: at most kDecodeRows rows; keys and values are streamed once, directly from the pages.
  size_t (*decode_scratch_bytes)(const HostCall& call);
  void (*decode)(const AttendUnit& unit, std::byte* scratch);
};

LH_PER_ISA(AttentionKernels, kAttentionKernels)

}  // namespace longhaul
