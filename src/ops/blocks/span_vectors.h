#pragma once
// The vectors that represent a span of tokens in Ltri-LLM's look-ups (arXiv:2412.04757, 3.3 and
// 3.4). A block is divided into spans by its attention map (ops/blocks/span_division.h). The n
// tokens of a span s with most votes represent it. n grows as its neighbours hold less information
// on it:
//
//   n = ceil(|s| * exp(-lambda * (1 - ratio(s)))), from 1 to `most` and |s|
//
// The vectors are the keys of these tokens in the index, and their queries in rows that look up.

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"
#include "ops/blocks/span_division.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// Vectors whose number is known only to the operations. Reused from call to call.
class VectorList {
 public:
  /// Reserves room for `most` vectors of `width` values.
  void resize(Queue& queue, int64_t most, int64_t width) {
    width_ = width;
    numbers_.resize(queue, most * width);
    count_.resize(queue, 1);
  }
  int64_t width() const { return width_; }
  int64_t most() const { return numbers_.size() / width_; }
  /// [most, width], of which the first count() are valid
  View<float> numbers() { return numbers_.view(); }
  View<const float> numbers() const { return numbers_.view(); }
  View<int32_t> counted() { return count_.view(); }  ///< [1]
  View<const int32_t> counted() const { return count_.view(); }

  VectorList on_host(Queue& queue) const;  ///< a copy; waits

  // On the host:
  int64_t count() const { return host(counted())[0]; }
  std::span<const float> vectors() const {
    return host(numbers()).first(static_cast<size_t>(count() * width_));
  }

 private:
  int64_t width_ = 1;
  Array<float> numbers_;
  Array<int32_t> count_;
};

/// Rule for the division of a block and the number of representative tokens per span.
struct SpanTokenRule {
  float theta = 0;  ///< quantile of the block's map that is subtracted from it
  float phi = 0;    ///< largest overlap of two spans
  int spans = 1;    ///< most spans of the block
  int most = 1;     ///< most tokens of a span
  SpanNeighbours neighbours = SpanNeighbours::kRow;
  float lambda = 0;  ///< rate at which the number of tokens decreases
};

/// Tokens of consecutive blocks of `block` each; the last block may have fewer.
struct DividedTokens {
  int64_t tokens = 0;
  int block = 0;
  /// [tokens, block]: below the diagonal, attention to tokens of the same block
  View<const float> maps;
  View<const float> votes;  ///< [tokens, heads]; empty: use the attention received within the block

  int64_t blocks() const { return (tokens + block - 1) / block; }
  bool lies_on(Place place) const {
    return maps.place() == place && (votes.empty() || votes.place() == place);
  }
  int length(int64_t b) const {
    return static_cast<int>(std::min<int64_t>(block, tokens - b * block));
  }
};

/// Blocks [first, first + count).
struct SomeBlocks {
  int64_t first = 0, count = 0;
};

/// The tokens that represent the spans of some blocks. Their number is known only to the
/// operations. Reused from call to call.
class SpanTokens {
 public:
  /// The tokens of one block, on the host.
  struct Block {
    std::span<const int32_t> ends;    ///< per span: number of tokens up to its end
    std::span<const int32_t> tokens;  ///< span after span, numbered within the block
  };

  void resize(Queue& queue, int64_t blocks, int spans, int most_tokens_of_a_span) {
    spans_ = spans;
    most_ = most_tokens_of_a_span;
    numbers_.resize(queue, blocks * record());
  }
  int spans() const { return spans_; }                      ///< most spans of a block
  int64_t most() const { return int64_t{spans_} * most_; }  ///< most tokens of a block
  /// Values per block: its number of spans; `spans()` ends; `most()` tokens.
  int64_t record() const { return 1 + spans_ + most(); }
  int64_t blocks() const { return numbers_.size() / record(); }
  View<int32_t> numbers() { return numbers_.view(); }
  View<const int32_t> numbers() const { return numbers_.view(); }

  static Block block_of(std::span<const int32_t> record, int64_t spans);
  View<const int32_t> records(const SomeBlocks& range) const {
    return numbers().part(range.first * record(), range.count * record());
  }
  Block of(int64_t block) const {
    return block_of(host(numbers().part(block * record(), record())), spans_);
  }

 private:
  int spans_ = 0, most_ = 0;
  Array<int32_t> numbers_;
};

/// Divides blocks of tokens by their maps. A token has the sum of the votes of all query heads.
void choose_span_tokens(Queue& queue, const DividedTokens& blocks, const SpanTokenRule& rule,
                        SpanTokens& tokens);
/// Writes the numbers of SpanTokens.
inline const DeviceOperation<bool(const DividedTokens&, const SpanTokenRule&, View<int32_t> tokens)>
    kChooseSpanTokens;

/// Gathers the stored keys of all tokens, concatenated over `lists`. In block b, a token's row is
/// first + b * block + token. `memory` gets [blocks, tokens.most(), width], with zeros after the
/// last token.
View<float> gather_span_keys(Queue& queue, std::span<const PagedRows> lists, int64_t first,
                             int block, const SpanTokens& tokens, Array<float>& memory);
inline const DeviceOperation<bool(std::span<const PagedRows>, int64_t first, int block,
                                  const SpanTokens&, View<float> keys)>
    kGatherSpanKeys;

/// Queries of look-ups. The query of a row is the query of one head, or the sums of the queries of
/// each KV head's query heads, concatenated over KV heads. <query, key> is then the score of the
/// head without scale, or the sum of the scores of all heads.
struct SpanQueries {
  View<const float> q;  ///< [rows, heads, head_dim]
  int heads = 0, kv_heads = 0;
  int head_dim = 0;
  int head = -1;             ///< query head; below 0: all
  bool sum_of_span = false;  ///< sum a span's queries

  int64_t width() const { return int64_t{head >= 0 ? 1 : kv_heads} * head_dim; }
  bool lies_on(Place place) const { return q.place() == place; }
};

/// Sets the queries of the tokens of some blocks with `block` rows each. Row 0 is the first row of
/// the first of these blocks.
void set_span_queries(Queue& queue, const SpanQueries& queries, int block, const SpanTokens& tokens,
                      const SomeBlocks& blocks, VectorList& to);
inline const DeviceOperation<bool(const SpanQueries&, int block, const SpanTokens&,
                                  const SomeBlocks&, VectorList&)>
    kSpanQueries;
/// Sets the queries of each of the rows [begin, end).
void set_row_queries(Queue& queue, const SpanQueries& queries, int64_t begin, int64_t end,
                     VectorList& to);
inline const DeviceOperation<bool(const SpanQueries&, int64_t begin, int64_t end, VectorList&)>
    kRowQueries;

}  // namespace longhaul
