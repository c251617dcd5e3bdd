#pragma once
// Computes the mean vectors of blocks of keys and of ranges of query rows. The dot products of
// these means form a coarse attention map, from which blocks of keys are selected (MInference,
// arXiv:2407.02490; FlexPrefill, arXiv:2502.20766).

#include <cstdint>
#include <span>

#include "ops/attention/attention.h"
#include "ops/choose/tile_grid.h"

namespace longhaul {

/// Divides stored keys [0, count) into blocks of `block` keys and writes the mean of each block to
/// out [blocks, head_dim]. The last block may be shorter.
void mean_keys(Queue& queue, const PagedRows& rows, int64_t count, int block, View<float> out);
inline const DeviceOperation<bool(const PagedRows&, int64_t count, int block, View<float> out)>
    kMeanKeys;

/// The mean keys of all KV heads (lists), with one mean for each block of a grid
/// (ops/choose/tile_grid.h).
class KeyMeans {
 public:
  /// Computes the means of keys [0, grid.keys()). If `only` is not empty, only lists l with only[l]
  /// != 0 are processed.
  void average(Queue& queue, std::span<const PagedRows> lists, std::span<const uint8_t> only,
               const TileGrid& grid);
  /// Returns the means of list `list`, [grid.blocks(), head_dim].
  View<const float> of(int list) const { return means_.view().part(list * each_, each_); }

 private:
  int64_t each_ = 0;
  Array<float> means_;
};

/// Writes the mean of query head `head` over rows [begin, end) of q [rows, heads, head_dim] to out
/// [head_dim].
void mean_query(Queue& queue, View<const float> q, int heads, int head_dim, int head, int64_t begin,
                int64_t end, View<float> out);

/// Sets scores[b] to scale * query . means[b] for each b < blocks.
void mean_scores(Queue& queue, View<const float> query, View<const float> means, int64_t blocks,
                 int head_dim, float scale, View<float> scores);

/// Replaces the scores by their softmax.
void softmax_of(Queue& queue, View<float> scores);

}  // namespace longhaul
