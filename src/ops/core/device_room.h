#pragma once
// Limits, in bytes unless stated otherwise, for the memory that a GPU's operations use in addition
// to their arguments. The operations stay within these limits, and the memory forecast includes
// them (Decoder::device_working_bytes).

#include <bit>
#include <cstddef>
#include <cstdint>

namespace longhaul {

/// Workspace of cuBLASLt, and of cuBLAS for grouped matrix products.
inline constexpr size_t kProductWorkspace = size_t{64} << 20;
inline constexpr size_t kGroupedWorkspace = size_t{32} << 20;

/// Limit for the keys and values that attention gathers (copies next to each other) at a time. If
/// one KV head needs more, attention may exceed the limit.
inline constexpr size_t kMostGatheredKeys = size_t{256} << 20;
/// Returns the size in bytes of a page of gathered keys and values: 64 of each in bf16, rounded up
/// to a power of two.
inline size_t bf16_page_bytes(int head_dim) {
  return std::bit_ceil(size_t{64} * 2 * 2 * static_cast<size_t>(head_dim));
}

/// Memory for partial results of attention with wide heads
/// (ops/attention/sm90/attend_wide_sm90.cu). It suffices for four rounds of thread blocks on a card
/// with 132 multiprocessors. Each thread block has 64 flat rows (queries of one head of one query
/// row). The partial result of a flat row has 576 elements, its reference logit and its softmax
/// denominator, in f32.
inline constexpr size_t kWideParts = size_t{4} * 132 * 64 * 578 * 4;

/// Two limits for a group of experts whose weights are dequantized together: the size of their gate
/// and up matrices in bf16, and the number of rows that they process. A single expert may exceed
/// both limits.
inline constexpr size_t kMostExpandedExperts = size_t{256} << 20;
inline constexpr int64_t kMostExpertRows = 8192;

}  // namespace longhaul
