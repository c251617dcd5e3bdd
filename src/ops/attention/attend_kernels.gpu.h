#pragma once
// What attend.cu hands to the kernels of attention.

#include <cuda.h>

#include <cstddef>

#include "ops/attention/attend_records.h"
#include "ops/attention/rope.h"

struct CUstream_st;

namespace longhaul::cuda {

/// Cosines and sines of positions first, first + 1, ...: [count, half] each.
struct RotationTable {
  const float* cosine;
  const float* sine;
  int64_t first;
  int32_t half;
  bool in_eights;  ///< half is a multiple of 8 and the rows are 16-byte aligned
};

/// Zeros for null.
inline RotationTable rotation_table(const longhaul::Rotations* r) {
  if (r == nullptr) return {};
  const auto aligned = [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  const int half = r->rotary_dim / 2;
  return {r->cosine, r->sine, r->first, half,
          half % 8 == 0 && aligned(r->cosine) && aligned(r->sine)};
}

inline constexpr float kLog2OfE = 1.44269504089f;

/// The logit in base 2 of a product x of a query and a key is scale * x, or scale * tanh(bend * x)
/// where the model caps logits.
struct LogitForm {
  float scale, bend;  ///< bend 0: no cap
};

/// As an AttendCall says.
inline LogitForm logit_form(float scale, float cap) {
  return cap > 0 ? LogitForm{cap * kLog2OfE, scale / cap} : LogitForm{scale * kLog2OfE, 0};
}

struct AttendArgs {
  const SegmentRecord* segments;
  float* out;          ///< [rows, heads, head_dim]
  float* lse;          ///< [rows, heads], or null
  const float* sinks;  ///< [heads] natural logits, or null
  float* partial;      ///< of the units that are parts
  int32_t* counters;   ///< of units that their last part merges: parts that have arrived; zeros
  RotationTable rotations;
  int32_t heads, head_dim;
  LogitForm logits;
  bool joins;  ///< AttendCall::joins, of the wgmma kernels alone
};

/// The pages as Hopper's copy engine sees them: [pages, 128, head_dim] bf16 numbers, a box of 64
/// rows and 64 columns at a time. Columns past head_dim arrive as zeros.
struct PageMap {
  CUtensorMap map;
  const std::byte* base;
  uint32_t page_units;  ///< from page to page, in 256 bytes
};

/// Segments and units of the few-row kernel. Short plans travel with the launch: a copy before it
/// would take longer than the kernel's own start (8 us against 2 on an H100). All parameters of a
/// kernel have 4 KB.
struct FewPlan {
  static constexpr size_t kMostHere = 3840;
  const std::byte* packed;  ///< in device memory; null: `here`
  uint32_t units;           ///< bytes from the plan's begin; segments lie there
  int32_t count;            ///< of units
  /// Bytes of a row of keys and of values, at most, that are not both bf16; 0: all are bf16.
  int32_t key_bytes, value_bytes;
  bool blocks;  ///< all are blocks of 32 in stretches that do not rotate
  bool turns;   ///< some rotate at consecutive positions
  alignas(16) std::byte here[kMostHere];
};
static_assert(sizeof(AttendArgs) + sizeof(FewPlan) + 16 <= 4096);

/// Each launches one block for every unit. The device's limits, to choose how much is in flight.
struct DeviceLimits {
  int shared_per_block = 0;      ///< bytes, opted in
  int shared_per_processor = 0;  ///< bytes
};
void launch_attend_tile(CUstream_st* stream, const AttendArgs& args, const UnitRecord* units,
                        int count, int head_dim);
void launch_attend_tile_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                             const UnitRecord* units, int count, int head_dim);
/// Of masked segments.
void launch_attend_masked_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                               const UnitRecord* units, int count, int head_dim);
/// A block for every part of every unit.
void launch_attend_few(CUstream_st* stream, const AttendArgs& args, const FewPlan& plan, int blocks,
                       const DeviceLimits& limits);
/// Puts what was counted into the segments; the pairs of live keys are added to `pairs`, or to
/// nothing (null).
void launch_resolve_counts(CUstream_st* stream, const CountRecord* counts, int count,
                           SegmentRecord* segments, int64_t* pairs);
/// Of merges that have so many flat rows and parts at most.
void launch_merge_parts(CUstream_st* stream, const AttendArgs& args, const MergeRecord* merges,
                        int count, int most_rows, int most_parts, int head_dim);

}  // namespace longhaul::cuda
