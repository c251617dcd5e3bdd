#pragma once
// The options of Ltri-LLM (docs/methods/ltri.md), and their effect on each layer.

#include <string>
#include <vector>

#include "attention/parts/context_blocks.h"
#include "ops/blocks/span_index.h"
#include "ops/blocks/span_vectors.h"

namespace longhaul {

/// The index of a block and its look-up. kPaper: spans, their vectors and sums over pairs, as
/// published. kLonghaul: all keys of a block, each row looked up by itself, and the best pair.
enum class LtriForm : uint8_t { kPaper, kLonghaul };
enum class LtriQueries : uint8_t { kSpans, kRows };
enum class LtriEarly : uint8_t { kAverage, kWindow };
enum class LtriDecode : uint8_t { kPersistent, kRefresh };

/// declare() describes each option.
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
  /// The options with the values implied by the form filled in.
  LtriOptions in_form() const;
};

struct LtriLayer {
  bool looks_up = false;  ///< has its own index
  int head = -1;          ///< its retrieval head (a query head); -1: the sum over all heads
  float weight = 0;       ///< weight of its vote
  SpanTokenRule rule;     ///< rule that divides its blocks
};

/// Throws UserError if settings contradict each other or do not fit the model's layers and heads.
std::vector<LtriLayer> ltri_layers(const LtriOptions& options, const ModelShape& shape);

}  // namespace longhaul
