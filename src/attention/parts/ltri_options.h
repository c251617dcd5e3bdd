#pragma once
// The options of Ltri-LLM (docs/methods/ltri.md), and what they say of each layer.

#include <string>
#include <vector>

#include "attention/parts/context_blocks.h"
#include "ops/span_index.h"
#include "ops/span_vectors.h"

namespace longhaul {

/// What a block's index is and how it is looked up: spans, their vectors and sums over pairs, as
/// published, or all keys of a block, each row for itself, and the best pair (ours).
enum class LtriForm : uint8_t { kPaper, kLonghaul };
enum class LtriQueries : uint8_t { kSpans, kRows };
enum class LtriEarly : uint8_t { kAverage, kWindow };
enum class LtriDecode : uint8_t { kPersistent, kRefresh };

/// declare() says what they mean.
struct LtriOptions {
  BlockOptions blocks;
  LtriForm form = LtriForm::kPaper;
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
  bool mean_index = false;

  void declare(OptionList& o);
  /// With what the form decides filled in.
  LtriOptions in_form() const;
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
