#pragma once
// The interface between top_keys.cc and the kernels of the instruction-set levels. A flat row is
// the query of one head of one query row.

#include "ops/attention/attention_kernels.h"
#include "ops/maps/top_keys.h"

namespace longhaul {

/// Some rows of a task, and keys [key_begin, key_begin + key_count). key_begin is a multiple of
/// kTopTile. The AttendUnit `rows` has one segment with all keys of the task.
struct TopKeysUnit {
  AttendUnit rows;
  int k;
  TopRule rule;
  float* scores;  ///< [flat rows, k], best first; kNoScore where there is no key
  int32_t* keys;  ///< [flat rows, k] key numbers
};

inline constexpr float kNoScore = -1e30f;

struct TopKeysKernels {
  size_t (*tile_scratch_bytes)(const HostCall& call, int flat_rows);
  void (*tile)(const TopKeysUnit& unit, std::byte* scratch);
  /// decode() processes a unit with at most kDecodeRows flat rows. decode_scratch_bytes() returns
  /// the size in bytes of its scratch memory.
  size_t (*decode_scratch_bytes)(const HostCall& call);
  void (*decode)(const TopKeysUnit& unit, std::byte* scratch);
};

LH_PER_ISA(TopKeysKernels, kTopKeysKernels)

}  // namespace longhaul
