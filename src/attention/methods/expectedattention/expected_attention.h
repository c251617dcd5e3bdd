#pragma once
// Scores keys by the attention that future queries are expected to give them (Expected Attention,
// arXiv:2510.00636, as in kvpress). Future queries are assumed to be normally distributed, with the
// mean m and the covariance C of the queries seen so far. R is the average rotation of the future
// positions. For a query head:
//
//   logit[j] = scale * <R m, key[j]> + scale^2 / 2 * key[j]^T (R C R^T) key[j]
//   score[j] = (mean over the query heads of softmax(logit)[j] + epsilon) * |value[j]|

#include <vector>

#include "base/nth.h"
#include "ops/attention/attention.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Sums over the unrotated query rows of every head of a layer. Mean and covariance are computed
/// from them. `origin`, the mean of the first added rows, is subtracted from all rows before
/// products are formed. Otherwise a covariance that is small compared with the mean would be lost
/// to rounding.
struct QueryMoments {
  int heads = 0;
  int head_dim = 0;
  bool covariance = true;  ///< whether products are summed
  int64_t rows = 0;        ///< number of added rows; 0: the arrays are empty
  Array<float> origin;     ///< [heads, head_dim]: subtracted from every row
  Array<double> sums;      ///< [heads, head_dim]
  Array<double> products;  ///< [heads, head_dim, head_dim]; empty if `covariance` is false

  int64_t width() const { return int64_t{heads} * head_dim; }
  /// Returns the bytes of the arrays after rows have been added.
  size_t most_bytes() const {
    return static_cast<size_t>(width() * (covariance ? head_dim + 1 : 1)) * sizeof(double);
  }
};

/// Adds the rows of q [rows, heads, head_dim], which must not be rotated.
void add_query_moments(Queue& queue, View<const float> q, QueryMoments& moments);
/// The device version of add_query_moments(). If `moments` has no rows yet, its arrays are
/// initialised. The arrays must already be allocated on the device. The caller updates
/// `moments.rows`.
inline const DeviceOperation<bool(View<const float> q, int64_t rows, int heads, int head_dim,
                                  QueryMoments& moments)>
    kAddQueryMoments;

/// The moments of the queries of a prompt, for all layers.
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
  /// Returns the bytes of the sums of all layers after each layer has added rows.
  size_t most_bytes() const {
    size_t bytes = 0;
    for (const QueryMoments& layer : layers_) bytes += layer.most_bytes();
    return bytes;
  }

 private:
  std::vector<QueryMoments> layers_;
};

/// The average of the rotations at consecutive positions. It rotates and shrinks each pair (t, t +
/// rotary_dim / 2). Elements from rotary_dim on do not change.
struct AverageRotation {
  std::vector<double> cosine, sine;  ///< [rotary_dim / 2]

  AverageRotation(const RopeTable& table, int64_t first, int64_t positions);
};

/// The distribution of the future queries, and the weights of the score.
struct ExpectedQueries {
  const QueryMoments* moments = nullptr;
  const RopeTable* rope = nullptr;
  int64_t first = 0;      ///< position of the first future query
  int64_t positions = 0;  ///< number of future positions, at least 1
  float scale = 0;        ///< factor of the logits
  bool values = true;     ///< whether scores are multiplied by the length of the value
  double epsilon = 0;     ///< epsilon of the formula, used if `values` is true
};

/// Scores the stored rows [first_row, first_row + scores.size()) of the list of one KV head, for
/// query heads [head_begin, head_begin + head_count). Keys are used as stored, including their
/// rotation. The softmax covers these rows only. Sums are f32, and the result does not depend on
/// the number of threads.
void expected_attention(Queue& queue, const ExpectedQueries& queries, const PagedRows& rows,
                        int64_t first_row, int head_begin, int head_count, View<float> scores);
inline const DeviceOperation<bool(const ExpectedQueries&, const PagedRows&, int64_t first_row,
                                  int head_begin, int head_count, View<float> scores)>
    kExpectedAttention;

/// Scores the rows from `first_row` on of all lists of a layer. scores[i] has one value for each of
/// these rows of lists[i]. Contiguous groups of query heads share a list.
void expected_attention(Queue& queue, const ExpectedQueries& queries,
                        std::span<const PagedRows> lists, int64_t first_row,
                        std::span<const View<float>> scores);

}  // namespace longhaul
