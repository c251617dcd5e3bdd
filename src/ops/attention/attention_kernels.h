#pragma once
// What attention.cc hands to the kernels of an ISA level.

#include <cstddef>
#include <cstdint>

#include "ops/attention/attention.h"
#include "ops/attention/host_call.h"
#include "ops/core/isa/per_isa.h"

namespace longhaul {

inline constexpr int kTileRows = 32;       ///< flat rows (row x query head) of one product
inline constexpr int kTileKeys = 128;      ///< keys packed at a time
inline constexpr int kUnitRows = 384;      ///< flat rows that share a packed block of keys, at most
inline constexpr int kFewRows = 8;         ///< flat rows up to which the memory-bound kernel serves
inline constexpr int kMostHeadDim = 2048;  ///< elements of a key, several of them laid end to end

/// A part of a task that one thread computes. Flat row f is row row_begin + f / head_count, query
/// head head_begin + f % head_count, so that neighbours share keys.
struct AttendUnit {
  const HostCall* call;
  const KeySegment* segments;
  int segment_count;
  int head_begin, head_count;
  int row_begin, row_count;
  int64_t row_position;
  // A unit of few rows may cover only keys [key_begin, key_begin + key_count) of the segments laid
  // end to end; it then writes a partial result instead of `out`.
  int64_t key_begin, key_count;
  float* partial_out;  ///< [flat rows, head_dim], sum of exp2 weights times values; may be null
  float* partial_max;  ///< [flat rows] largest logit, base 2
  float* partial_sum;  ///< [flat rows]
};

struct AttentionKernels {
  /// Scratch bytes that `tile` needs for a unit of `flat_rows` rows.
  size_t (*tile_scratch_bytes)(const HostCall& call, int flat_rows);
  /// Many rows: keys are packed block by block and multiplied on bf16 or f32 tiles.
  void (*tile)(const AttendUnit& unit, std::byte* scratch);
  /// At most kFewRows rows (decode): keys and values are streamed once, straight from the pages.
  size_t (*few_scratch_bytes)(const HostCall& call);
  void (*few)(const AttendUnit& unit, std::byte* scratch);
};

LH_PER_ISA(AttentionKernels, kAttentionKernels)

}  // namespace longhaul
