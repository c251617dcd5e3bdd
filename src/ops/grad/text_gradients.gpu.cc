#include "ops/grad/text_gradients.gpu.h"

#include <algorithm>

#include "ops/core/elementwise.gpu.h"
#include "ops/grad/text_chunks.h"

namespace longhaul::cuda {
namespace {

uint16_t* bf16(const Room& room) { return static_cast<uint16_t*>(room.data); }
float* f32(const Room& room) { return static_cast<float*>(room.data); }

/// Tokens per packed head. It is rounded up, so that texts of similar length share the library's
/// plans.
int64_t room_of(const TextAttention& shape) { return (shape.tokens + 1023) / 1024 * 1024; }

}  // namespace

/// Converts queries and d_out (grouped by KV heads) and keys and values to bf16.
void TextGradients::pack(const TextAttention& shape, const AttentionTrace& trace) {
  const int64_t room = room_of(shape);
  const auto queries = static_cast<size_t>(room * shape.query_width());
  const int64_t keys = shape.tokens * shape.key_width();
  for (Room* of : {&q_, &d_out_}) of->at_least(queries * sizeof(uint16_t));
  for (Room* of : {&k_, &v_}) of->at_least(static_cast<size_t>(keys) * sizeof(uint16_t));
  means_.at_least(static_cast<size_t>(shape.tokens * shape.heads) * sizeof(float));
  const Stream stream = queue_.handle();
  pack_heads(stream, shape, room, trace.q.address(), nullptr, bf16(q_), nullptr);
  pack_heads(stream, shape, room, trace.d_out.address(),
             trace.out.empty() ? nullptr : trace.out.address(), bf16(d_out_), f32(means_));
  f32_to_bf16(stream, trace.k.address(), keys, bf16(k_));
  f32_to_bf16(stream, trace.v.address(), keys, bf16(v_));
}

/// Products of a tile's rows [tokens * group, head_dim] and its keys, for every KV head.
GemmCall TextGradients::with_keys(const TextAttention& shape, const PairTile& tile,
                                  const uint16_t* rows, const uint16_t* keys) const {
  const int64_t d = shape.head_dim, group = shape.heads / shape.kv_heads;
  GemmCall call;
  call.rows = tile.tokens * group;
  call.outputs = tile.keys;
  call.cols = d;
  call.x = rows + tile.token * group * d;
  call.w = keys + tile.key * shape.key_width();
  call.w_stride = shape.key_width();
  call.y_stride = tile.stride;
  call.batch = shape.kv_heads;
  call.x_batch = room_of(shape) * group * d;
  call.w_batch = d;
  call.y_batch = call.rows * tile.stride;
  return call;
}

/// Computes the tile's scores and the gradients of its weights.
void TextGradients::multiply(const TextAttention& shape, PairTile& tile) {
  const auto pairs = static_cast<size_t>(tile.tokens * shape.heads * tile.stride);
  for (Room* room : {&scores_, &d_weights_}) room->at_least(pairs * sizeof(float));
  GemmCall scores = with_keys(shape, tile, bf16(q_), bf16(k_));
  scores.y = scores_.data;
  products_.gemm().run(queue_.handle(), scores);
  GemmCall d_weights = with_keys(shape, tile, bf16(d_out_), bf16(v_));
  d_weights.y = d_weights_.data;
  products_.gemm().run(queue_.handle(), d_weights);
  tile.scores = f32(scores_);
  tile.d_weights = f32(d_weights_);
}

/// Adds the tile's contribution to the gradients of keys and values, and to dq_ unless it is the
/// first.
void TextGradients::add_tile(const TextAttention& shape, const PairTile& tile, bool first,
                             float* dk, float* dv) {
  const Stream stream = queue_.handle();
  const int64_t d = shape.head_dim, group = shape.heads / shape.kv_heads;
  const int64_t rows = tile.tokens * group;
  const auto pairs = static_cast<size_t>(tile.tokens * shape.heads * tile.stride);
  for (Room* room : {&weights_, &d_scores_}) room->at_least(pairs * sizeof(uint16_t));
  pair_gradients(stream, shape, tile, bf16(weights_), bf16(d_scores_));

  GemmCall call;  // dq = d_scores k
  call.batch = shape.kv_heads;
  call.rows = rows;
  call.outputs = d;
  call.cols = tile.keys;
  call.x = bf16(d_scores_);
  call.x_stride = tile.stride;
  call.x_batch = rows * tile.stride;
  call.w = bf16(k_) + tile.key * shape.key_width();
  call.w_turned = true;
  call.w_stride = shape.key_width();
  call.w_batch = d;
  call.y = dq_.data;
  call.y_batch = rows * d;
  call.add = !first;
  products_.gemm().run(stream, call);

  const auto add_to_keys = [&](const Room& pairs_of, const Room& of, float* to) {
    GemmCall sums;  // to += pairs^T rows
    sums.batch = shape.kv_heads;
    sums.rows = tile.keys;
    sums.outputs = d;
    sums.cols = rows;
    sums.x = bf16(pairs_of);
    sums.x_turned = true;
    sums.x_stride = tile.stride;
    sums.x_batch = rows * tile.stride;
    sums.w = bf16(of) + tile.token * group * d;
    sums.w_turned = true;
    sums.w_batch = room_of(shape) * group * d;
    sums.y = to + tile.key * shape.key_width();
    sums.y_stride = shape.key_width();
    sums.y_batch = d;
    sums.add = true;
    products_.gemm().run(stream, sums);
  };
  add_to_keys(d_scores_, q_, dk);
  add_to_keys(weights_, d_out_, dv);
}

void TextGradients::backward(const TextAttention& shape, const AttentionTrace& trace, float* dq,
                             float* dk, float* dv) {
  pack(shape, trace);
  const int64_t chunk = chunk_tokens(shape);
  dq_.at_least(static_cast<size_t>(chunk * shape.query_width()) * sizeof(float));
  for (int64_t token = 0; token < shape.tokens; token += chunk) {
    const int64_t count = std::min(chunk, shape.tokens - token);
    bool first = true;
    for (const KeyRange& keys : seen_keys(shape, token, count)) {
      if (keys.count() == 0) continue;
      PairTile tile{.token = token, .tokens = count, .key = keys.begin};
      tile.keys = keys.count();
      tile.stride = pair_stride(tile.keys);
      tile.lse = trace.lse.address();
      tile.means = f32(means_);
      multiply(shape, tile);
      add_tile(shape, tile, first, dk, dv);
      first = false;
    }
    add_unpacked(queue_.handle(), shape, f32(dq_), token, count, dq);
  }
}

RegionSums TextGradients::regions(const TextAttention& shape, const AttentionTrace& trace,
                                  const ProbedRegions& regions) {
  pack(shape, trace);
  const int64_t chunk = chunk_tokens(shape);
  sums_.at_least(6 * sizeof(double));
  of_rows_.at_least(static_cast<size_t>(6 * chunk * shape.heads) * sizeof(double));
  queue_.clear(sums_.data, 6 * sizeof(double));
  auto* const sums = static_cast<double*>(sums_.data);
  for (int64_t token = 0; token < shape.tokens; token += chunk) {
    const int64_t count = std::min(chunk, shape.tokens - token);
    PairTile tile{.token = token, .tokens = count, .keys = seen_keys(shape, token, count)[0].end};
    tile.stride = pair_stride(tile.keys);
    tile.lse = trace.lse.address();
    multiply(shape, tile);
    cuda::add_regions(queue_.handle(), shape, tile, regions, static_cast<double*>(of_rows_.data),
                      sums);
  }
  double all[6];
  queue_.download(sums_.data, all, sizeof all);
  return {{all[0], all[1]}, {all[2], all[3]}, {all[4], all[5]}};
}

void TextGradients::add_gates(const GatedRows& shape, const float* d_mixed, const float* full,
                              const float* near, float* sums) {
  sums_.at_least(sizeof(float) * kGateParts * static_cast<size_t>(shape.kv_heads));
  gate_gradients(queue_.handle(), shape, d_mixed, full, near, f32(sums_));
  add_lists(queue_.handle(), f32(sums_), kGateParts, shape.kv_heads, sums);
}

}  // namespace longhaul::cuda
