#pragma once
// Iterates over the (row, key) pairs of one query head, for operations that differentiate
// attention. The pairs are processed in tiles of 128 rows and up to 512 keys. Only files of ops/
// use this header.

#include <cstdint>

#include "base/buffer.h"
#include "ops/grad/attention_backward.h"

namespace longhaul {

/// The rows of one query head in an array [tokens, heads, head_dim]. Rows begin `stride` floats
/// apart.
struct HeadRows {
  const float* data = nullptr;
  int64_t stride = 0;
};

/// An AttentionTrace in host memory.
struct TextRows {
  explicit TextRows(const AttentionTrace& trace)
      : q(host(trace.q).data()),
        k(host(trace.k).data()),
        v(host(trace.v).data()),
        out(host(trace.out).data()),
        lse(host(trace.lse).data()),
        d_out(host(trace.d_out).data()) {}
  const float *q, *k, *v, *out, *lse, *d_out;
};

class TextTiles {
 public:
  static constexpr int64_t kRows = 128, kKeys = 512;

  TextTiles(const TextAttention& shape, const TextRows& trace) : shape_(shape), trace_(trace) {}

  int64_t row_tiles() const { return (shape_.tokens + kRows - 1) / kRows; }
  bool without_gradient(int head, int64_t row, int64_t rows) const;

  /// The softmax weights, and their gradients (d_out . value), for the rows and keys of a tile. If
  /// a row does not see a key, the weight is zero, and the gradient must be ignored.
  struct Tile {
    int64_t row = 0, rows = 0, key = 0, keys = 0;
    float* weights = nullptr;    ///< [rows, keys]
    float* d_weights = nullptr;  ///< [rows, keys]
  };

  /// Splits the keys that the rows of tile `row_tile` can see into tiles, and calls visit(tile) for
  /// each of them. Does nothing if d_out is zero in all these rows.
  template <class Visit>
  void visit(int head, int64_t row_tile, Visit&& visit) {
    const int64_t row = row_tile * kRows;
    const int64_t rows = shape_.tokens - row < kRows ? shape_.tokens - row : kRows;
    if (without_gradient(head, row, rows)) return;
    const int64_t before = row - shape_.window + 1;  // first key in the window of the first row
    const int64_t first = before > shape_.sink ? before : 0;
    for (int64_t key = 0; first > 0 && key < shape_.sink; key += kKeys) {
      visit(make(head, row, rows, key, end_of(key, shape_.sink)));
    }
    for (int64_t key = first; key < row + rows; key += kKeys) {
      visit(make(head, row, rows, key, end_of(key, row + rows)));
    }
  }

  HeadRows query_rows(const float* x, int head) const {
    return {x + int64_t{head} * shape_.head_dim, shape_.query_width()};
  }
  HeadRows key_rows(const float* x, int kv_head) const {
    return {x + int64_t{kv_head} * shape_.head_dim, shape_.key_width()};
  }

 private:
  static int64_t end_of(int64_t key, int64_t end) { return end - key < kKeys ? end : key + kKeys; }
  const Tile& make(int head, int64_t row, int64_t rows, int64_t key, int64_t end);

  const TextAttention& shape_;
  const TextRows& trace_;
  Tile tile_;
  Buffer<float> weights_, d_weights_;
};

}  // namespace longhaul
