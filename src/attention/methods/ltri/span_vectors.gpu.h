#pragma once
// Implements the operations of attention/methods/ltri/span_vectors.h on a CUDA device: the
// selection of tokens that represent spans, and the gathering of their keys and queries. All
// addresses are device addresses.

#include <cstdint>

#include "attention/methods/ltri/span_memory.h"
#include "ops/attention/kv.h"

namespace longhaul::cuda {

/// Selects the spans of each block and the tokens that represent them. A block may have at most
/// kMostSpanTokens tokens, and at most as many spans.
void choose_span_tokens(Stream stream, const SpanTasks& tasks);

/// The tokens that represent the spans of several blocks, as records of SpanTokens.
struct TokenRecords {
  const int32_t* numbers = nullptr;  ///< [blocks, 1 + spans + most]
  int64_t blocks = 0;
  int spans = 0, most = 0;  ///< largest numbers of spans and of tokens per block

  LH_BOTH const int32_t* of(int64_t block) const {
    return numbers + block * (1 + int64_t{spans} + most);
  }
  /// Returns the number of tokens in a record.
  LH_BOTH int count(const int32_t* record) const { return record[spans]; }
  LH_BOTH const int32_t* tokens(const int32_t* record) const { return record + 1 + spans; }
};

/// Writes the stored keys of all tokens to keys [blocks, most, lists, head_dim]. The key of a token
/// of block b is in row first + b * block + token of each list. Zeros follow a block's last token.
void gather_span_keys(Stream stream, const KvForm& form, const PageTable* lists, int count,
                      int64_t first, int block, const TokenRecords& tokens, float* keys);

/// Writes the mean of keys [blocks, most, width] over the tokens of each span to `means` [blocks,
/// spans, width]. Writes records with only the first token of each span to `one` [blocks, 1 + 2 *
/// spans].
void mean_of_spans(Stream stream, const TokenRecords& tokens, const float* keys, int width,
                   int32_t* one, float* means);

/// SpanQueries with device addresses.
struct QueryForm {
  const float* q = nullptr;  ///< [rows, heads, head_dim]
  int heads = 0, kv_heads = 0, head_dim = 0;
  int head = -1;
  bool sum_of_span = false;

  LH_BOTH int width() const { return (head >= 0 ? 1 : kv_heads) * head_dim; }
};
/// Writes the query vectors of the tokens to `to`, and the number of vectors to `count`. Blocks
/// have `block` rows.
void span_queries(Stream stream, const QueryForm& queries, int block, const TokenRecords& tokens,
                  float* to, int32_t* count);
/// Writes the query vectors of rows [begin, end) to `to`, and the number of vectors to `count`.
void row_queries(Stream stream, const QueryForm& queries, int64_t begin, int64_t end, float* to,
                 int32_t* count);

}  // namespace longhaul::cuda
