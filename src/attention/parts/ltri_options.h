#pragma once
// The options of Ltri-LLM (docs/methods/ltri.md), and what they say of each layer.

#include <string>
#include <vector>

#include "attention/parts/context_blocks.h"
#include "ops/span_index.h"
#include "ops/span_vectors.h"

namespace longhaul {

enum class LtriQueries : uint8_t { kSpans, kRows };
enum class LtriEarly : uint8_t { kAverage, kWindow };
enum class LtriDecode : uint8_t { kPersistent, kRefresh };

/// declare() says what they mean.
struct LtriOptions {
  BlockOptions blocks;
  int64_t last = 32;
  std::string heads;
  LtriEarly early = LtriEarly::kAverage;
  bool vote = true;
  std::string theta = "0.9", phi = "0.1";
  int64_t spans = 4, vectors = 12;
  std::string lambda = "3";
  double lambda_first = 20;
  SpanNeighbours ratio = SpanNeighbours::kRow;
  LtriQueries queries = LtriQueries::kSpans;
  int64_t query_rows = 1;
  SpanSimilarity similarity = SpanSimilarity::kSum;
  LtriDecode decode = LtriDecode::kPersistent;

  void declare(OptionList& o);
};

struct LtriLayer {
  bool looks_up = false;  ///< has an index of its own
  int head = -1;          ///< its retrieval head, a query head; -1: the sum over all heads
  float weight = 0;       ///< of its vote
  SpanTokenRule rule;     ///< how its blocks are divided
};

/// Throws UserError when settings contradict each other or do not fit the model's layers and heads.
std::vector<LtriLayer> ltri_layers(const LtriOptions& options, const ModelShape& shape);

}  // namespace longhaul
