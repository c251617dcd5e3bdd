#pragma once
// The vectors that stand for a span of tokens in Ltri-LLM's look-ups (arXiv:2412.04757, 3.3 and
// 3.4). A block is divided into spans by its attention map (ops/span_division.h). Of a span s those
// n tokens stand for it that got most votes, the more the less its neighbours know of it:
//
//   n = ceil(|s| * exp(-lambda * (1 - ratio(s)))), from 1 to `most` and |s|
//
// In the index it is the keys of these tokens; of rows that look up, their queries.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention.h"
#include "ops/select_rows.h"
#include "ops/span_division.h"

namespace longhaul {

/// Vectors of which only the operations know how many there are. Reused from call to call.
class VectorList {
 public:
  void clear(int64_t width) {
    width_ = width;
    numbers_.clear();
  }
  int64_t width() const { return width_; }
  int64_t count() const { return static_cast<int64_t>(numbers_.size()) / width_; }
  /// Vectors [first, first + count), one after the other.
  View<const float> part(int64_t first, int64_t count) const {
    return View<const float>(std::span<const float>(numbers_)).part(first * width_, count * width_);
  }
  View<const float> view() const { return part(0, count()); }

  /// One more vector, of zeros. Valid until the next.
  View<float> add() {
    numbers_.resize(numbers_.size() + static_cast<size_t>(width_));
    return View<float>(std::span<float>(numbers_).last(static_cast<size_t>(width_)));
  }
  /// Vectors from `first` on become one: their sum, in their order.
  void sum_from(int64_t first);

 private:
  int64_t width_ = 1;
  std::vector<float> numbers_;
};

/// How a block is divided, and how many of its tokens stand for a span.
struct SpanTokenRule {
  float theta = 0;  ///< quantile of the block's map that is subtracted from it
  float phi = 0;    ///< most overlap of two spans
  int spans = 1;    ///< of the block, at most
  int most = 1;     ///< tokens of a span
  SpanNeighbours neighbours = SpanNeighbours::kRow;
  float lambda = 0;  ///< how fast tokens get fewer
};

/// The tokens that stand for a block's spans, span after span, numbered in the block: how many
/// there are only the operations know. Reused from call to call.
struct SpanTokens {
  std::vector<int32_t> tokens;
  std::vector<int32_t> span_ends;  ///< per span: tokens up to its end

  std::vector<float> votes;  ///< scratch, per token
  RowSelection of_span;      ///< scratch
};

/// Divides a block of n tokens by its map [n, n] (below the diagonal). A token has the votes of all
/// query heads together: votes [n, heads].
void choose_span_tokens(Queue& queue, View<const float> map, int n, View<const float> votes,
                        const SpanTokenRule& rule, SpanTokens& tokens);
/// The same where a token's votes are what the block's own tokens pay it.
void choose_span_tokens(Queue& queue, View<const float> map, int n, const SpanTokenRule& rule,
                        SpanTokens& tokens);

/// Of every token the key as it is stored, row first + token of each of `lists`, laid end to end.
void gather_span_keys(Queue& queue, std::span<const PagedRows> lists, int64_t first,
                      const SpanTokens& tokens, VectorList& keys);

/// What looks up: of a row its query of one head, or for each KV head the sum of the queries of
/// its heads, laid end to end, so that <query, key> is the head's raw score, or the sum of all
/// heads' scores.
struct SpanQueries {
  View<const float> q;  ///< [rows, heads, head_dim]
  int heads = 0, kv_heads = 0;
  int head_dim = 0;
  int head = -1;             ///< query head; below 0: all
  bool sum_of_span = false;  ///< a span's queries become their sum

  int64_t width() const { return int64_t{head >= 0 ? 1 : kv_heads} * head_dim; }
};

/// Adds the queries of the tokens of a block whose first token is row `first`.
void add_span_queries(Queue& queue, const SpanQueries& queries, int64_t first,
                      const SpanTokens& tokens, VectorList& to);
/// Adds the queries of rows [begin, end), each for itself.
void add_row_queries(Queue& queue, const SpanQueries& queries, int64_t begin, int64_t end,
                     VectorList& to);

}  // namespace longhaul
