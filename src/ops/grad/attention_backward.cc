#include "ops/grad/attention_backward.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/sgemm.h"
#include "ops/grad/row_gradients.h"
#include "ops/grad/text_tiles.h"

namespace longhaul {
namespace {

void check(const TextAttention& shape, const AttentionTrace& trace) {
  LH_ASSERT(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0 && shape.head_dim > 0);
  LH_ASSERT(shape.sink >= 0 && shape.window > 0);
  LH_ASSERT(trace.q.size() == shape.tokens * shape.query_width());
  LH_ASSERT(trace.k.size() == shape.tokens * shape.key_width());
  LH_ASSERT(trace.v.size() == trace.k.size() && trace.d_out.size() == trace.q.size());
  LH_ASSERT(trace.lse.size() == shape.tokens * shape.heads);
}

AttentionTrace on_host(HostStage& on, const AttentionTrace& trace) {
  return {on(trace.q), on(trace.k), on(trace.v), on(trace.out), on(trace.lse), on(trace.d_out)};
}

/// Number of workers among which the rows of a KV head's query heads are divided, each with its own
/// sums. It suffices for the cores, and it is constant so that the order of additions does not
/// depend on them.
int64_t parts_of(const TextAttention& shape) { return std::max(1, 16 / shape.kv_heads); }

/// Adds the contributions of one query head's rows in one tile to dq, dk and dv, each [tokens,
/// head_dim].
void add_tile(const TextAttention& shape, const TextRows& trace, const TextTiles& tiles,
              const TextTiles::Tile& tile, int head, float* dq, float* dk, float* dv) {
  const int64_t d = shape.head_dim, width = shape.query_width();
  const int kv_head = head / (shape.heads / shape.kv_heads);
  const HeadRows q = tiles.query_rows(trace.q, head), d_out = tiles.query_rows(trace.d_out, head);
  const HeadRows out = tiles.query_rows(trace.out, head), k = tiles.key_rows(trace.k, kv_head);
  const Factor weights{tile.weights, tile.keys, true};
  sgemm(tile.keys, d, tile.rows, weights, {d_out.data + tile.row * width, width}, dv + tile.key * d,
        d, true);
  const auto gradient = kRowGradients_for(current_isa()).scores;
  for (int64_t r = 0; r < tile.rows; ++r) {
    float mean = 0;
    const int64_t at = (tile.row + r) * width;
    for (int64_t i = 0; i < d; ++i) mean += d_out.data[at + i] * out.data[at + i];
    gradient(tile.weights + r * tile.keys, tile.keys, shape.scale, mean,
             tile.d_weights + r * tile.keys);
  }
  sgemm(tile.rows, d, tile.keys, {tile.d_weights, tile.keys},
        {k.data + tile.key * k.stride, k.stride}, dq + tile.row * width + head * d, width, true);
  sgemm(tile.keys, d, tile.rows, {tile.d_weights, tile.keys, true},
        {q.data + tile.row * width, width}, dk + tile.key * d, d, true);
}

/// Adds the workers' sums of each KV head, [kv_heads, parts, tokens, head_dim], to the layout of
/// keys.
void add_sums(const TextAttention& shape, const Buffer<float>& sums, float* to) {
  const int64_t d = shape.head_dim, parts = parts_of(shape);
  parallel_ranges(shape.tokens, 64, [&](int64_t begin, int64_t end) {
    for (int64_t head = 0; head < shape.kv_heads; ++head) {
      for (int64_t part = 0; part < parts; ++part) {
        const float* from = sums.data() + (head * parts + part) * shape.tokens * d;
        for (int64_t t = begin; t < end; ++t) {
          float* row = to + t * shape.key_width() + head * d;
          for (int64_t i = 0; i < d; ++i) row[i] += from[t * d + i];
        }
      }
    }
  });
}

void backward_on_host(const TextAttention& shape, const TextRows& trace, float* dq, float* dk,
                      float* dv) {
  const int64_t parts = parts_of(shape), size = shape.tokens * shape.head_dim;
  const int group = shape.heads / shape.kv_heads;
  Buffer<float> dk_sums(static_cast<size_t>(shape.kv_heads * parts * size));
  Buffer<float> dv_sums(static_cast<size_t>(shape.kv_heads * parts * size));
  parallel_for(shape.kv_heads * parts, [&](int64_t worker, int) {
    float* dk_sum = dk_sums.data() + worker * size;
    float* dv_sum = dv_sums.data() + worker * size;
    std::fill_n(dk_sum, size, 0.0f);
    std::fill_n(dv_sum, size, 0.0f);
    TextTiles tiles(shape, trace);
    const int first_head = static_cast<int>(worker / parts) * group;
    for (int head = first_head; head < first_head + group; ++head) {
      for (int64_t row_tile = worker % parts; row_tile < tiles.row_tiles(); row_tile += parts) {
        tiles.visit(head, row_tile, [&](const TextTiles::Tile& tile) {
          add_tile(shape, trace, tiles, tile, head, dq, dk_sum, dv_sum);
        });
      }
    }
  });
  add_sums(shape, dk_sums, dk);
  add_sums(shape, dv_sums, dv);
}

/// Adds the (row, key) pairs with keys [from, to) of a tile to `sums`.
void add_pairs(const TextTiles::Tile& tile, int64_t row, int64_t from, int64_t to, PairSums& sums) {
  from = std::max(from, tile.key);
  to = std::min(to, tile.key + tile.keys);
  if (from >= to) return;
  const int64_t at = (row - tile.row) * tile.keys + from - tile.key;
  float sum = 0, magnitude = 0;
  kRowGradients_for(current_isa())
      .products(tile.weights + at, tile.d_weights + at, to - from, &sum, &magnitude);
  sums.sum += static_cast<double>(sum);
  sums.magnitude += static_cast<double>(magnitude);
}

void add_regions(const TextTiles::Tile& tile, const ProbedRegions& regions, int64_t tokens,
                 RegionSums& sums) {
  for (int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
    const int64_t sinks = std::min(regions.sink, row) + 1;
    const int64_t near = std::max(sinks, row - regions.window);
    PairSums& rest = row >= tokens - regions.last ? sums.last : sums.middle;
    add_pairs(tile, row, 0, sinks, sums.streaming);
    add_pairs(tile, row, sinks, near, rest);
    add_pairs(tile, row, near, row + 1, sums.streaming);
  }
}

void add(const PairSums& from, PairSums& to) {
  to.sum += from.sum;
  to.magnitude += from.magnitude;
}

RegionSums regions_on_host(const TextAttention& shape, const TextRows& trace,
                           const ProbedRegions& regions) {
  const int64_t row_tiles = TextTiles(shape, trace).row_tiles();
  std::vector<RegionSums> of_task(static_cast<size_t>(shape.heads * row_tiles));
  parallel_for(shape.heads * row_tiles, [&](int64_t task, int) {
    TextTiles tiles(shape, trace);
    RegionSums& sums = of_task[static_cast<size_t>(task)];
    tiles.visit(
        static_cast<int>(task / row_tiles), task % row_tiles,
        [&](const TextTiles::Tile& tile) { add_regions(tile, regions, shape.tokens, sums); });
  });
  RegionSums all;
  for (const RegionSums& sums : of_task) {
    add(sums.streaming, all.streaming);
    add(sums.last, all.last);
    add(sums.middle, all.middle);
  }
  return all;
}

}  // namespace

void attention_backward(Queue& queue, const TextAttention& shape, const AttentionTrace& trace,
                        View<float> dq, View<float> dk, View<float> dv) {
  check(shape, trace);
  LH_ASSERT(trace.out.size() == trace.q.size());
  LH_ASSERT(dq.size() == trace.q.size() && dk.size() == trace.k.size() && dv.size() == dk.size());
  if (on_device(kAttentionBackward, queue, shape, trace, dq, dk, dv)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    return attention_backward(host_queue(), shape, on_host(on, trace), on(dq), on(dk), on(dv));
  }
  backward_on_host(shape, TextRows(trace), host(dq).data(), host(dk).data(), host(dv).data());
}

RegionSums attention_regions(Queue& queue, const TextAttention& shape, const AttentionTrace& trace,
                             const ProbedRegions& regions) {
  check(shape, trace);
  LH_ASSERT(shape.window >= shape.tokens);
  if (const auto sums = on_device(kAttentionRegions, queue, shape, trace, regions)) return *sums;
  if (!queue.on_host()) {
    HostStage on(queue);
    return attention_regions(host_queue(), shape, on_host(on, trace), regions);
  }
  return regions_on_host(shape, TextRows(trace), regions);
}

}  // namespace longhaul
