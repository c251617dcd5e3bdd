#pragma once
// Scores keys by the expected attention of future queries (Expected Attention, arXiv:2510.00636, as
// in kvpress). Future queries are assumed to be normally distributed, with the mean and covariance
// of the queries seen so far. For a query head with mean m and covariance C, both rotated by R, the
// average rotation of the future positions:
//
//   logit[j] = scale * <R m, key[j]> + scale^2 / 2 * key[j]^T (R C R^T) key[j]
//   score[j] = (mean over the query heads of softmax(logit)[j] + epsilon) * |value[j]|

#include <vector>

#include "base/nth.h"
#include "ops/attention/attention.h"
#include "ops/attention/rope.h"

namespace longhaul {

/// Sums over the query rows of every head of a layer, before rotation, from which mean and
/// covariance follow. The mean of the first rows is subtracted before rows are multiplied.
/// Otherwise a covariance that is small compared with the mean would be lost to rounding.
struct QueryMoments {
  int heads = 0;
  int head_dim = 0;
  bool covariance = true;  ///< products are summed too
  int64_t rows = 0;        ///< 0: the arrays hold nothing yet
  Array<float> origin;     ///< [heads, head_dim]: subtracted from every row
  Array<double> sums;      ///< [heads, head_dim]
  Array<double> products;  ///< [heads, head_dim, head_dim]; empty without `covariance`

  int64_t width() const { return int64_t{heads} * head_dim; }
  /// Returns the bytes of the sums after rows have been added.
  size_t most_bytes() const {
    return static_cast<size_t>(width() * (covariance ? head_dim + 1 : 1)) * sizeof(double);
  }
};

/// Adds the rows of q [rows, heads, head_dim]. They must not be rotated.
void add_query_moments(Queue& queue, View<const float> q, QueryMoments& moments);
/// Adds to `moments`, whose arrays have room on the device, or initialises them if they have no
/// rows yet. The caller counts rows.
inline const DeviceOperation<bool(View<const float> q, int64_t rows, int heads, int head_dim,
                                  QueryMoments& moments)>
    kAddQueryMoments;

/// The queries of a prompt, for every layer.
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
  /// Returns the bytes of the sums of all layers, after rows of every layer have been added.
  size_t most_bytes() const {
    size_t bytes = 0;
    for (const QueryMoments& layer : layers_) bytes += layer.most_bytes();
    return bytes;
  }

 private:
  std::vector<QueryMoments> layers_;
};

/// The average of the rotations at consecutive positions. It rotates and shrinks each pair (t, t +
/// rotary_dim / 2) and leaves elements past rotary_dim unchanged.
struct AverageRotation {
  std::vector<double> cosine, sine;  ///< [rotary_dim / 2]

  AverageRotation(const RopeTable& table, int64_t first, int64_t positions);
};

/// Positions and weighting of the future queries.
struct ExpectedQueries {
  const QueryMoments* moments = nullptr;
  const RopeTable* rope = nullptr;
  int64_t first = 0;      ///< position of the first future query
  int64_t positions = 0;  ///< number of positions averaged over, at least 1
  float scale = 0;        ///< factor of the logits
  bool values = true;     ///< multiplies scores by the length of the values
  double epsilon = 0;     ///< added to the probability if `values` is set
};

/// Scores stored rows [first_row, first_row + scores.size()) of the list of one KV head, for its
/// query heads [head_begin, head_begin + head_count). Keys are used as stored, with their rotation.
/// The softmax is over these rows. Sums are f32; the result does not depend on the number of
/// threads.
void expected_attention(Queue& queue, const ExpectedQueries& queries, const PagedRows& rows,
                        int64_t first_row, int head_begin, int head_count, View<float> scores);
inline const DeviceOperation<bool(const ExpectedQueries&, const PagedRows&, int64_t first_row,
                                  int head_begin, int head_count, View<float> scores)>
    kExpectedAttention;

/// Variant for all lists of a layer, to which the query heads are assigned in contiguous groups. It
/// scores the rows from `first_row` on in scores[i] [rows of lists[i]].
void expected_attention(Queue& queue, const ExpectedQueries& queries,
                        std::span<const PagedRows> lists, int64_t first_row,
                        std::span<const View<float>> scores);

}  // namespace longhaul
