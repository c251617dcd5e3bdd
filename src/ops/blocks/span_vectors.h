#pragma once
// The vectors that stand for a span of tokens in Ltri-LLM's look-ups (arXiv:2412.04757, 3.3 and
// 3.4). A block is divided into spans by its attention map (ops/blocks/span_division.h). Of a span
// s those n tokens stand for it that got most votes, the more the less its neighbours know of it:
//
//   n = ceil(|s| * exp(-lambda * (1 - ratio(s)))), from 1 to `most` and |s|
//
// In the index it is the keys of these tokens; of rows that look up, their queries.

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/attention/attention.h"
#include "ops/blocks/span_division.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// Vectors of which only the operations know how many there are. Reused from call to call.
class VectorList {
 public:
  /// Room for `most` vectors of `width` numbers.
  void resize(Queue& queue, int64_t most, int64_t width) {
    width_ = width;
    numbers_.resize(queue, most * width);
    count_.resize(queue, 1);
  }
  int64_t width() const { return width_; }
  int64_t most() const { return numbers_.size() / width_; }
  View<float> numbers() { return numbers_.view(); }  ///< [most, width], the first of which count
  View<const float> numbers() const { return numbers_.view(); }
  View<int32_t> counted() { return count_.view(); }  ///< [1]
  View<const int32_t> counted() const { return count_.view(); }

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

/// How a block is divided, and how many of its tokens stand for a span.
struct SpanTokenRule {
  float theta = 0;  ///< quantile of the block's map that is subtracted from it
  float phi = 0;    ///< most overlap of two spans
  int spans = 1;    ///< of the block, at most
  int most = 1;     ///< tokens of a span
  SpanNeighbours neighbours = SpanNeighbours::kRow;
  float lambda = 0;  ///< how fast tokens get fewer
};

/// Tokens of some blocks of `block` each, one behind the other; the last may have fewer.
struct DividedTokens {
  int64_t tokens = 0;
  int block = 0;
  View<const float> maps;  ///< [tokens, block]: below the diagonal what they paid their own block's
  View<const float> votes;  ///< [tokens, heads]; empty: what they got from their own block

  int64_t blocks() const { return (tokens + block - 1) / block; }
  int length(int64_t b) const {
    return static_cast<int>(std::min<int64_t>(block, tokens - b * block));
  }
};

/// Blocks [first, first + count).
struct SomeBlocks {
  int64_t first = 0, count = 0;
};

/// The tokens that stand for the spans of some blocks: how many there are only the operations know.
/// Reused from call to call.
class SpanTokens {
 public:
  /// Of a block, on the host.
  struct Block {
    std::span<const int32_t> ends;    ///< per span: tokens up to its end
    std::span<const int32_t> tokens;  ///< span after span, numbered in the block
  };

  void resize(Queue& queue, int64_t blocks, int spans, int most_tokens_of_a_span) {
    spans_ = spans;
    most_ = most_tokens_of_a_span;
    numbers_.resize(queue, blocks * record());
  }
  int spans() const { return spans_; }                      ///< of a block, at most
  int64_t most() const { return int64_t{spans_} * most_; }  ///< tokens of a block, at most
  /// Numbers of a block: how many spans it has; `spans()` ends; `most()` tokens.
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

/// Divides blocks of tokens by their maps. A token has the votes of all query heads together.
void choose_span_tokens(Queue& queue, const DividedTokens& blocks, const SpanTokenRule& rule,
                        SpanTokens& tokens);

/// Of every token the key as it is stored, laid end to end, of each of `lists`: in block b the row
/// first + b * block + token. `memory` gets [blocks, tokens.most(), width], zeros behind the tokens
/// that there are.
View<float> gather_span_keys(Queue& queue, std::span<const PagedRows> lists, int64_t first,
                             int block, const SpanTokens& tokens, Array<float>& memory);

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

/// The queries of the tokens of some of the blocks, of `block` rows each: row 0 is the first row of
/// the first of them.
void set_span_queries(Queue& queue, const SpanQueries& queries, int block, const SpanTokens& tokens,
                      const SomeBlocks& blocks, VectorList& to);
/// The queries of rows [begin, end), each for itself.
void set_row_queries(Queue& queue, const SpanQueries& queries, int64_t begin, int64_t end,
                     VectorList& to);

}  // namespace longhaul
