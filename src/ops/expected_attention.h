#pragma once
// The attention that queries to come are expected to pay (Expected Attention, arXiv:2510.00636, as
// in kvpress): queries are taken for normally distributed around the mean of those seen so far.

#include "ops/attention.h"
#include "ops/rope.h"

namespace longhaul {

/// Sums over query rows of every head of a layer, before rotation: mean and covariance come from
/// them. Doubles, so that what was added first does not get lost.
struct QueryMoments {
  int64_t rows = 0;
  std::vector<double> sums;      ///< [heads, head_dim]
  std::vector<double> products;  ///< [heads, head_dim, head_dim]; empty: no covariance
};

/// Adds rows of q [rows, heads, head_dim], not rotated.
void add_query_moments(Queue& queue, View<const float> q, int64_t rows, int heads, int head_dim,
                       bool covariance, QueryMoments& moments);

/// How the coming queries are placed and weighed.
struct ExpectedQueries {
  const QueryMoments* moments = nullptr;
  const RopeTable* rope = nullptr;
  int64_t first = 0;      ///< position of the first query to come
  int64_t positions = 0;  ///< how many are averaged over
  float scale = 0;        ///< of the logits
  double epsilon = 0;     ///< added to the probability
  bool values = true;     ///< weighs keys by the length of their value
};

/// Scores of stored rows [first_row, first_row + scores.size()) of the list of one KV head, rotated
/// as they are stored, for its query heads [head_begin, head_begin + head_count).
void expected_attention(Queue& queue, const ExpectedQueries& queries, const PagedRows& rows,
                        int64_t first_row, int head_begin, int head_count, View<float> scores);

}  // namespace longhaul
