#include "ops/grad/text_tiles.h"

#include <algorithm>

#include "ops/core/sgemm.h"
#include "ops/grad/row_gradients.h"

namespace longhaul {

bool TextTiles::without_gradient(int head, int64_t row, int64_t rows) const {
  const HeadRows d_out = query_rows(trace_.d_out, head);
  for (int64_t r = row; r < row + rows; ++r) {
    const float* numbers = d_out.data + r * d_out.stride;
    if (std::any_of(numbers, numbers + shape_.head_dim, [](float x) { return x != 0; })) {
      return false;
    }
  }
  return true;
}

const TextTiles::Tile& TextTiles::make(int head, int64_t row, int64_t rows, int64_t key,
                                       int64_t end) {
  const int64_t keys = end - key, d = shape_.head_dim;
  const int kv_head = head / (shape_.heads / shape_.kv_heads);
  weights_.resize(static_cast<size_t>(kRows * kKeys));
  d_weights_.resize(static_cast<size_t>(kRows * kKeys));
  tile_ = {row, rows, key, keys, weights_.data(), d_weights_.data()};
  const HeadRows q = query_rows(trace_.q, head), d_out = query_rows(trace_.d_out, head);
  const HeadRows k = key_rows(trace_.k, kv_head), v = key_rows(trace_.v, kv_head);
  sgemm(rows, keys, d, {q.data + row * q.stride, q.stride},
        {k.data + key * k.stride, k.stride, true}, tile_.weights, keys);
  sgemm(rows, keys, d, {d_out.data + row * d_out.stride, d_out.stride},
        {v.data + key * v.stride, v.stride, true}, tile_.d_weights, keys);
  const RowGradients& kernels = kRowGradients_for(current_isa());
  for (int64_t r = row; r < row + rows; ++r) {
    float* weights = tile_.weights + (r - row) * keys;
    kernels.weights(weights, keys, shape_.scale, trace_.lse[r * shape_.heads + head]);
    // Clears pairs between the sinks and the window, and after the row itself.
    const auto clear = [&](int64_t from, int64_t to) {
      from = std::clamp(from, key, end);
      std::fill(weights + from - key, weights + std::max(from, std::min(to, end)) - key, 0.0f);
    };
    clear(shape_.sink, r - shape_.window + 1);
    clear(r + 1, end);
  }
  return tile_;
}

}  // namespace longhaul
