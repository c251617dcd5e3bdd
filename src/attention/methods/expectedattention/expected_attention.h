#pragma once
// Scores stored rows (keys and values) by the attention that future queries will probably give them
// (Expected Attention, arXiv:2510.00636, as in kvpress). Future queries are assumed to be normally
// distributed, with the mean m and the covariance C of the queries so far, before rotation by RoPE.
// R is the average of the RoPE rotations at the future positions. For a query head and the stored
// row j:
//
//   logit[j] = scale * <R m, key[j]> + scale^2 / 2 * key[j]^T (R C R^T) key[j]
//   score[j] = (mean over the query heads of softmax(logit)[j] + epsilon) * |value[j]|

#include <vector>

#include "base/nth.h"
#include "ops/attention/attention.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Sums over the queries of a layer, per query head, from which mean and covariance are computed.
/// The queries must not be rotated. `origin`, the mean of the first added rows, is subtracted from
/// all rows before they are multiplied. Otherwise rounding errors would exceed a covariance that is
/// small compared with the mean.
struct QueryMoments {
  int heads = 0;
  int head_dim = 0;
  bool covariance = true;  ///< whether `products` are computed
  int64_t rows = 0;        ///< number of added rows; 0: the arrays are empty
  Array<float> origin;     ///< [heads, head_dim]: subtracted from every row
  Array<double> sums;      ///< [heads, head_dim]: sums of the rows
  Array<double> products;  ///< [heads, head_dim, head_dim]: sums of the rows' outer products

  int64_t width() const { return int64_t{heads} * head_dim; }
  /// Returns the size in bytes of `sums` and `products` after rows have been added.
  size_t most_bytes() const {
    return static_cast<size_t>(width() * (covariance ? head_dim + 1 : 1)) * sizeof(double);
  }
};

/// Adds the rows of q [rows, heads, head_dim], which must not be rotated, to `moments`.
void add_query_moments(Queue& queue, View<const float> q, QueryMoments& moments);
/// The device version of add_query_moments(). The arrays of `moments` must already be allocated on
/// the device. The operation initialises them if moments.rows is 0. The caller must update
/// moments.rows afterwards.
inline const DeviceOperation<bool(View<const float> q, int64_t rows, int heads, int head_dim,
                                  QueryMoments& moments)>
    kAddQueryMoments;

/// The moments of a prompt's queries, for all layers.
class SeenQueries {
 public:
  void add_layer(int heads, int head_dim, bool covariance) {
    layers_.push_back({heads, head_dim, covariance});
  }

  const QueryMoments& of(int layer) const { return nth(layers_, layer); }
  void forget(int layer) { nth(layers_, layer).rows = 0; }
  void add(Queue& queue, int layer, View<const float> q) {
    add_query_moments(queue, q, nth(layers_, layer));
  }
  /// Returns the total size in bytes of all layers' moments after rows have been added to each
  /// layer.
  size_t most_bytes() const {
    size_t bytes = 0;
    for (const QueryMoments& layer : layers_) bytes += layer.most_bytes();
    return bytes;
  }

 private:
  std::vector<QueryMoments> layers_;
};

/// The average of the RoPE rotations at positions [first, first + positions). It rotates each pair
/// of elements (t, t + rotary_dim / 2) and also makes it shorter. Elements from rotary_dim on do
/// not change.
struct AverageRotation {
  std::vector<double> cosine, sine;  ///< [rotary_dim / 2]

  AverageRotation(const RopeTable& table, int64_t first, int64_t positions);
};

/// The distribution of the future queries, and the parameters of the score.
struct ExpectedQueries {
  const QueryMoments* moments = nullptr;
  const RopeTable* rope = nullptr;
  int64_t first = 0;      ///< position of the first future query
  int64_t positions = 0;  ///< number of future positions, at least 1
  float scale = 0;        ///< factor of the logits
  bool values = true;     ///< whether scores are multiplied by the norm of the value
  double epsilon = 0;     ///< epsilon of the formula, used if `values` is true
};

/// Scores the stored rows [first_row, first_row + scores.size()) of the list of one KV head. Query
/// heads [head_begin, head_begin + head_count) share this list. Keys are used as they are stored,
/// including their rotation. The softmax is over these rows only. Sums are f32, and the result does
/// not depend on the number of threads.
void expected_attention(Queue& queue, const ExpectedQueries& queries, const PagedRows& rows,
                        int64_t first_row, int head_begin, int head_count, View<float> scores);
inline const DeviceOperation<bool(const ExpectedQueries&, const PagedRows&, int64_t first_row,
                                  int head_begin, int head_count, View<float> scores)>
    kExpectedAttention;

/// Scores the stored rows from `first_row` on in all lists of a layer. scores[i] receives one score
/// for each of these rows of lists[i]. Contiguous groups of query heads share a list.
void expected_attention(Queue& queue, const ExpectedQueries& queries,
                        std::span<const PagedRows> lists, int64_t first_row,
                        std::span<const View<float>> scores);

}  // namespace longhaul
