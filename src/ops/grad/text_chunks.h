#pragma once
// Divides the pairs of rows and keys of a text into chunks, for which matrix products are computed.
// A chunk is a range of tokens together with the keys that they see.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "ops/grad/attention_backward.h"

namespace longhaul::cuda {

/// The keys from `begin` to end - 1.
struct KeyRange {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

/// Returns the stride in elements between rows of an array with one number per pair, for rows of
/// `keys` keys.
inline int64_t pair_stride(int64_t keys) { return (keys + 7) / 8 * 8; }

/// Returns the keys that tokens [token, token + count) see, as one or two ranges. The ranges are
/// extended, so that only few different lengths occur. Each new length is a new shape of five
/// matrix products for the GEMM library.
inline std::array<KeyRange, 2> seen_keys(const TextAttention& shape, int64_t token, int64_t count) {
  const int64_t near = token - shape.window + 1;
  if (near > shape.sink) {
    return {{{std::max(shape.sink, near / 8 * 8), token + count}, {0, shape.sink}}};
  }
  const auto part = static_cast<uint64_t>(std::max<int64_t>(64, shape.tokens / 32));
  const auto step = static_cast<int64_t>(std::bit_ceil(part));
  return {{{0, std::min((token + count + step - 1) / step * step, shape.tokens)}, {}}};
}

/// Bytes per pair: two f32 and two bf16.
inline constexpr int64_t kPairBytes = 12;
inline constexpr int64_t kMostPairBytes = int64_t{1} << 30;

/// Returns the number of tokens per chunk, at least 8. The pairs of all heads of a chunk fit into
/// kMostPairBytes, unless even 8 tokens need more.
inline int64_t chunk_tokens(const TextAttention& shape) {
  // In larger chunks, most tokens would not see many of the chunk's keys.
  constexpr int64_t kMost = 512;
  int64_t count = kMost;
  const auto keys = [&] {
    return std::min(shape.tokens, count + shape.window + shape.sink) + shape.tokens / 16;
  };
  while (count > 8 && count * shape.heads * keys() * kPairBytes > kMostPairBytes) count /= 2;
  return count;
}

}  // namespace longhaul::cuda
