#pragma once
// Memory that a GPU's operations use in addition to their arguments. The operations stay within
// these limits, and the memory forecast includes them (Decoder::device_working_bytes).

#include <bit>
#include <cstddef>
#include <cstdint>

namespace longhaul {

/// Workspace of cuBLASLt, and of cuBLAS for grouped products.
inline constexpr size_t kProductWorkspace = size_t{64} << 20;
inline constexpr size_t kGroupedWorkspace = size_t{32} << 20;

/// Limit for keys and values that attention gathers at a time. If one KV head needs more, it may
/// exceed the limit.
inline constexpr size_t kMostGatheredKeys = size_t{256} << 20;
/// Returns the bytes of a page of gathered rows: 64 keys and 64 values in bf16, rounded up to a
/// power of two.
inline size_t bf16_page_bytes(int head_dim) {
  return std::bit_ceil(size_t{64} * 2 * 2 * static_cast<size_t>(head_dim));
}

/// Memory for partial results of wide heads (ops/attention/sm90/attend_wide_sm90.cu): up to four
/// rounds of thread blocks on a card of 132 processors. Each thread block has 64 rows of 576
/// elements.
inline constexpr size_t kWideParts = size_t{4} * 132 * 64 * 578 * 4;

/// Limits for the experts that are dequantized together: the bytes of their gate and up matrices in
/// bf16, and the rows that they process. A single expert may exceed both limits.
inline constexpr size_t kMostExpandedExperts = size_t{256} << 20;
inline constexpr int64_t kMostExpertRows = 8192;

}  // namespace longhaul
