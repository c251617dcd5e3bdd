#pragma once
// Arguments that attend.cu passes to the attention kernels.

#include <cuda.h>

#include <cstddef>

#include "ops/attention/attend_records.h"
#include "ops/attention/rope.h"

struct CUstream_st;

namespace longhaul::cuda {

/// Cosines and sines of positions first, first + 1, ..., each [count, half].
struct RotationTable {
  const float* cosine;
  const float* sine;
  int64_t first;
  int32_t half;
  bool in_eights;  ///< half is a multiple of 8 and the rows are 16-byte aligned
};

/// Converts `r` to the format of kernels. Returns zeros for null.
inline RotationTable rotation_table(const longhaul::Rotations* r) {
  if (r == nullptr) return {};
  const auto aligned = [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  const int half = r->rotary_dim / 2;
  return {r->cosine, r->sine, r->first, half,
          half % 8 == 0 && aligned(r->cosine) && aligned(r->sine)};
}

inline constexpr float kLog2OfE = 1.44269504089f;

/// Logits in base 2 of a product x of a query and a key: scale * x, or scale * tanh(bend * x) if
/// the model caps logits.
struct LogitForm {
  float scale, bend;  ///< bend 0: no cap
};

/// Converts the scale and the cap of an AttendCall.
inline LogitForm logit_form(float scale, float cap) {
  return cap > 0 ? LogitForm{cap * kLog2OfE, scale / cap} : LogitForm{scale * kLog2OfE, 0};
}

struct AttendArgs {
  const SegmentRecord* segments;
  float* out;          ///< [rows, heads, head_dim]
  float* lse;          ///< [rows, heads], or null
  const float* sinks;  ///< [heads] natural logits, or null
  float* partial;      ///< partial results of units that are parts
  int32_t* counters;   ///< arrived parts per unit that its last part merges; initially zeros
  RotationTable rotations;
  int32_t heads, head_dim;
  LogitForm logits;
  bool joins;  ///< AttendCall::joins; read by the wgmma kernels only
};

/// The pages as a tensor map for Hopper's copy engine: [pages, 128, head_dim] bf16 values in boxes
/// of 64 rows and 64 columns. Columns past head_dim are filled with zeros.
struct PageMap {
  CUtensorMap map;
  const std::byte* base;
  uint32_t page_units;  ///< page stride in units of 256 bytes
};

/// Segments and units of the decode kernel. Short plans are kernel arguments: a copy before the
/// launch would take longer than the launch itself (8 us against 2 on an H100). A kernel has 4 KB
/// of parameters.
struct DecodePlan {
  static constexpr size_t kMostHere = 3840;
  const std::byte* packed;  ///< plan in device memory; null: it is in `here`
  uint32_t units;           ///< byte offset of the units; segments lie at the plan's start
  int32_t count;            ///< number of units
  /// Largest bytes per row of keys and values that are not both bf16; 0: all are bf16.
  int32_t key_bytes, value_bytes;
  bool blocks;  ///< all segments are consecutive rows of 32-blocks without rotation
  bool turns;   ///< some keys rotate at consecutive positions
  alignas(16) std::byte here[kMostHere];
};
static_assert(sizeof(AttendArgs) + sizeof(DecodePlan) + 16 <= 4096);

/// The device's limits, which determine how much data is in flight.
struct DeviceLimits {
  int shared_per_block = 0;      ///< bytes, opted in
  int shared_per_processor = 0;  ///< bytes
};
/// The functions below start one thread block per unit unless stated otherwise.
void launch_attend_tile(CUstream_st* stream, const AttendArgs& args, const UnitRecord* units,
                        int count, int head_dim);
/// For heads that is_wide() names (attend.gpu.h); units have at most kWideUnitRows rows.
void launch_attend_wide(CUstream_st* stream, const AttendArgs& args, const UnitRecord* units,
                        int count, int head_dim);
void launch_attend_tile_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                             const UnitRecord* units, int count, int head_dim);
/// Like launch_attend_sm90(), for segments with masks.
void launch_attend_masked_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                               const UnitRecord* units, int count, int head_dim);
/// Starts a thread block for every part of every unit.
void launch_attend_decode(CUstream_st* stream, const AttendArgs& args, const DecodePlan& plan,
                          int blocks, const DeviceLimits& limits);
/// Writes counted lengths into the segments. Adds the visible pairs of live keys to `pairs`, unless
/// it is null.
void launch_resolve_counts(CUstream_st* stream, const CountRecord* counts, int count,
                           SegmentRecord* segments, int64_t* pairs);
/// No merge has more than most_rows (row, head) rows and most_parts parts.
void launch_merge_parts(CUstream_st* stream, const AttendArgs& args, const MergeRecord* merges,
                        int count, int most_rows, int most_parts, int head_dim);

}  // namespace longhaul::cuda
