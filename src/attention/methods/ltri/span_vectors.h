#pragma once
// Selects the tokens that represent spans in Ltri-LLM's searches, and gathers their keys and
// queries (arXiv:2412.04757, sections 3.3 and 3.4). Spans are ranges of tokens in a block of
// tokens, which are selected by the block's attention map (attention/methods/ltri/span_division.h).
// The votes of a token are the attention that it received. A span s of |s| tokens is represented by
// its n tokens with the most votes. n is larger if the neighbours of s contain less information
// about it, which means that span_ratio() is higher:
//
// n = ceil(|s| * exp(-lambda * (1 - span_ratio(s)))), at least 1 and at most `most` and |s|
//
// The index of blocks holds the keys of these tokens. A step that searches the index selects spans
// in its own rows, and uses the queries of their representative tokens.

#include <algorithm>
#include <cstdint>
#include <span>

#include "attention/methods/ltri/span_division.h"
#include "ops/attention/attention.h"
#include "ops/choose/select_rows.h"

namespace longhaul {

/// An array of vectors. The number of valid vectors is in the memory of the device or host that
/// writes them. The memory is reused between calls.
class VectorList {
 public:
  /// Sets the size to room for `most` vectors of `width` floats.
  void resize(Queue& queue, int64_t most, int64_t width) {
    width_ = width;
    numbers_.resize(queue, most * width);
    count_.resize(queue, 1);
  }
  int64_t width() const { return width_; }
  int64_t most() const { return numbers_.size() / width_; }
  /// Returns all vectors [most, width], of which the first count() are valid.
  View<float> numbers() { return numbers_.view(); }
  View<const float> numbers() const { return numbers_.view(); }
  View<int32_t> counted() { return count_.view(); }  ///< returns [1]: the number of valid vectors
  View<const int32_t> counted() const { return count_.view(); }

  VectorList on_host(Queue& queue) const;  ///< returns a copy in host memory; waits for the queue

  // The following functions require that the vectors are in host memory.
  int64_t count() const { return host(counted())[0]; }
  std::span<const float> vectors() const {
    return host(numbers()).first(static_cast<size_t>(count() * width_));
  }

 private:
  int64_t width_ = 1;
  Array<float> numbers_;
  Array<int32_t> count_;
};

/// The rule that selects the spans of a block and the number of tokens that represent each span.
struct SpanTokenRule {
  float theta = 0;  ///< the quantile of the map's entries that is the threshold
  float phi = 0;    ///< largest IoU of two spans (SpanRule::most_iou)
  int spans = 1;    ///< largest number of spans of a block
  int most = 1;     ///< largest number of tokens that represent a span
  SpanNeighbours neighbours = SpanNeighbours::kRow;
  float lambda = 0;  ///< lambda of the formula above
};

/// Consecutive blocks of `block` tokens each; the last block may have fewer. `tokens` is their
/// total number.
struct DividedTokens {
  int64_t tokens = 0;
  int block = 0;
  /// [tokens, block]: attention maps, the attention of each token to the tokens of its block. Only
  /// entries up to the token itself are used.
  View<const float> maps;
  /// [tokens, heads]: votes of each token. If empty, the attention that a token received within its
  /// block is used.
  View<const float> votes;

  int64_t blocks() const { return (tokens + block - 1) / block; }
  bool lies_on(Place place) const {
    return maps.place() == place && (votes.empty() || votes.place() == place);
  }
  int length(int64_t b) const {
    return static_cast<int>(std::min<int64_t>(block, tokens - b * block));
  }
};

/// A range of blocks: [first, first + count).
struct SomeBlocks {
  int64_t first = 0, count = 0;
};

/// The tokens that represent the spans of several blocks. Each block has a record of fixed size:
/// its number of spans, spans() ends (Block::ends), and most() tokens (Block::tokens). The records
/// are in the memory of the device or host that writes them. The memory is reused between calls.
class SpanTokens {
 public:
  /// The tokens of one block, on the host.
  struct Block {
    std::span<const int32_t> ends;    ///< per span: number of tokens of this and all earlier spans
    std::span<const int32_t> tokens;  ///< tokens of all spans; indices in the block
  };

  void resize(Queue& queue, int64_t blocks, int spans, int most_tokens_of_a_span) {
    spans_ = spans;
    most_ = most_tokens_of_a_span;
    numbers_.resize(queue, blocks * record());
  }
  int spans() const { return spans_; }  ///< returns the largest number of spans of a block
  /// Returns the largest number of tokens in a record.
  int64_t most() const { return int64_t{spans_} * most_; }
  /// Returns the number of integers in a record.
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

/// Selects the spans of each block and the tokens that represent them, and writes their records to
/// `tokens`. The votes of all query heads for a token are summed.
void choose_span_tokens(Queue& queue, const DividedTokens& blocks, const SpanTokenRule& rule,
                        SpanTokens& tokens);
/// Writes the records of SpanTokens.
inline const DeviceOperation<bool(const DividedTokens&, const SpanTokenRule&, View<int32_t> tokens)>
    kChooseSpanTokens;

/// Returns the stored keys of all tokens, [blocks, tokens.most(), width]. A vector is the
/// concatenation of a token's keys in all `lists` (one list per KV head). The key of a token of
/// block b is in row first + b * block + token of each list. Zeros follow a block's last token. The
/// result is stored in `memory`.
View<float> gather_span_keys(Queue& queue, std::span<const PagedRows> lists, int64_t first,
                             int block, const SpanTokens& tokens, Array<float>& memory);
inline const DeviceOperation<bool(std::span<const PagedRows>, int64_t first, int block,
                                  const SpanTokens&, View<float> keys)>
    kGatherSpanKeys;

/// Describes how query vectors are computed from query rows. If `head` is not negative, the query
/// vector of a row is the query of this head, and its dot product with a key is the unscaled
/// attention score. Otherwise the queries of the query heads that share a KV head are summed, and
/// the sums are concatenated over KV heads. The dot product with a vector of gather_span_keys() is
/// then the sum of the unscaled scores of all heads.
struct SpanQueries {
  View<const float> q;  ///< [rows, heads, head_dim]
  int heads = 0, kv_heads = 0;
  int head_dim = 0;
  int head = -1;             ///< index of the query head; negative: all heads
  bool sum_of_span = false;  ///< whether the query vectors of a span's tokens are summed

  int64_t width() const { return int64_t{head >= 0 ? 1 : kv_heads} * head_dim; }
  bool lies_on(Place place) const { return q.place() == place; }
};

/// Sets `to` to the query vectors of the tokens in the records `blocks` of `tokens`. Blocks have
/// `block` rows each, and row 0 of queries.q is the first row of the first of these blocks.
void set_span_queries(Queue& queue, const SpanQueries& queries, int block, const SpanTokens& tokens,
                      const SomeBlocks& blocks, VectorList& to);
inline const DeviceOperation<bool(const SpanQueries&, int block, const SpanTokens&,
                                  const SomeBlocks&, VectorList&)>
    kSpanQueries;
/// Sets `to` to the query vectors of rows [begin, end).
void set_row_queries(Queue& queue, const SpanQueries& queries, int64_t begin, int64_t end,
                     VectorList& to);
inline const DeviceOperation<bool(const SpanQueries&, int64_t begin, int64_t end, VectorList&)>
    kRowQueries;

}  // namespace longhaul
