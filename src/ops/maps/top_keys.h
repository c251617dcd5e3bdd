#pragma once
// The k keys with the highest score for each query row: a second, unscaled pass over the keys that
// stores scores of only one tile (ReAttention's selection; arXiv:2407.15176).
//
//   score[r, h, j] = q[r, h] . key[j],   keys and queries as they are stored

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

inline constexpr int kMostTopKeys = 8;
inline constexpr int kTopTile = 128;  ///< keys per tile with TopRule::kTile

enum class TopRule : uint8_t {
  kExact,  ///< the best k of all keys
  kTile,   ///< candidates are the best of every kTopTile consecutive keys; the best k of these
};

/// Query heads [head_begin, +head_count) of rows [row_begin, +row_count) score all stored rows
/// [begin, +count), whatever their positions.
struct TopKeysTask {
  int head_begin = 0, head_count = 0;
  int row_begin = 0, row_count = 0;
  PagedRows keys;
  int64_t begin = 0, count = 0;  ///< count below 2^31
};

struct TopKeysCall {
  Queue* queue = &host_queue();
  View<const float> queries;  ///< [rows, heads, head_dim]
  int heads = 0;
  int head_dim = 0;
  int k = 1;  ///< 1 .. kMostTopKeys
  TopRule rule = TopRule::kExact;
  AttendCompute compute = AttendCompute::kBest;
  View<int32_t> keys;  ///< [rows, heads, k] 0 .. count - 1, best first; -1 after the last one
  View<float> scores;  ///< [rows, heads, k] scores of `keys`; may be empty
};

/// Ties go to the lower key. Tasks must not overlap in (row, head). With up to 8 rows times heads
/// the keys are streamed once; with more, packed tiles are multiplied. Sums are f32. kBest rounds
/// queries to bf16 if the CPU has bf16 products.
void top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks);

}  // namespace longhaul
