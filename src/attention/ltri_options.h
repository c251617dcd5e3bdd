#pragma once
// The options of Ltri-LLM, read and checked (docs/methods/ltri.md).

#include <vector>

#include "attention/context_blocks.h"
#include "attention/span_index.h"
#include "ops/span_division.h"

namespace longhaul {

/// Which of a step's rows look up: the index tokens of their spans, or the last rows themselves.
enum class LtriQueries : uint8_t { kSpans, kRows };

struct LtriLayer {
  bool looks_up = false;  ///< has an index of its own
  int head = -1;          ///< its retrieval head, a query head; -1: the sum over all heads
  float weight = 0;       ///< of its vote
  float theta = 0;        ///< quantile of a block's map that is subtracted from it
  float phi = 0;          ///< most overlap of two spans
  float lambda = 0;       ///< how fast index vectors get fewer
};

struct LtriOptions {
  BlockOptions blocks;
  int last = 32;     ///< rows of the last step of a prompt
  int spans = 4;     ///< most of a block
  int vectors = 12;  ///< most index vectors of a block
  SpanNeighbours ratio = SpanNeighbours::kRow;
  SpanSimilarity similarity = SpanSimilarity::kSum;
  LtriQueries queries = LtriQueries::kSpans;
  int query_rows = 1;
  bool persistent = true;
  bool vote = true;
  std::vector<LtriLayer> layers;
};

/// Throws UserError when settings contradict each other or do not fit the model's layers and heads.
LtriOptions ltri_options(const MethodOptions& options, const ModelShape& shape);

}  // namespace longhaul
