#pragma once
// Finds the k keys with the highest scores for each query row. The score of a key is its unscaled
// dot product with the query. The keys are read in a separate pass that stores the scores of only
// one tile at a time. ReAttention selects keys in this way (arXiv:2407.15176).
//
// score[r, h, j] = q[r, h] . key[j], where queries and keys are used as given, without further
// rotation.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

inline constexpr int kMostTopKeys = 8;
inline constexpr int kTopTile = 128;  ///< keys per tile with TopRule::kTile

enum class TopRule : uint8_t {
  kExact,  ///< the result is the k keys with the highest scores
  kTile,   ///< only the best key of each kTopTile consecutive keys is a candidate; the result is
           ///< the best k candidates
};

/// Query heads [head_begin, head_begin + head_count) of rows [row_begin, row_begin + row_count),
/// and stored rows [begin, begin + count) of `keys`. Positions are ignored: every query row sees
/// all these keys.
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
  int k = 1;  ///< number of keys to find per row and head, from 1 to kMostTopKeys
  TopRule rule = TopRule::kExact;
  AttendCompute compute = AttendCompute::kBest;
  View<int32_t> keys;  ///< [rows, heads, k] key numbers from 0 to count - 1, best first; -1 if
                       ///< there are fewer than k keys
  View<float> scores;  ///< [rows, heads, k] scores of `keys`; may be empty
};

/// Finds the keys of all tasks. If two keys have equal scores, the one with the lower number is
/// better. A flat row is the query of one head of one query row. No flat row may belong to two
/// tasks. If a task has at most 8 flat rows, its keys are read directly. Otherwise they are packed
/// into tiles, which are multiplied by tiles of queries. Sums are f32. With AttendCompute::kBest,
/// queries and keys are rounded to bf16 if the CPU supports bf16 products.
void top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks);
inline const DeviceOperation<bool(const TopKeysCall&, std::span<const TopKeysTask>)> kTopKeys;

}  // namespace longhaul
