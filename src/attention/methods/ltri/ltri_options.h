#pragma once
// The options of the method Ltri-LLM (docs/methods/ltri.md), and the settings of each layer that
// follow from them.

#include <string>
#include <vector>

#include "attention/methods/ltri/span_index.h"
#include "attention/methods/ltri/span_vectors.h"
#include "attention/parts/context_blocks.h"

namespace longhaul {

/// The index entries of a block, and how a step searches them. kPaper, as published: a block is
/// divided into spans, and a few vectors represent each span. The score of a block is a sum over
/// pairs of a query and a vector. kLonghaul: the index holds all keys of a block, and each query
/// row searches separately. The best pair of a query and a key gives the score.
enum class LtriForm : uint8_t { kPaper, kLonghaul };
enum class LtriQueries : uint8_t { kSpans, kRows };
enum class LtriEarly : uint8_t { kAverage, kWindow };
enum class LtriDecode : uint8_t { kPersistent, kRefresh };

/// The options. declare() contains a description of each.
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
  /// Returns a copy in which options that depend on the form have the values of that form.
  LtriOptions in_form() const;
};

/// The settings of one layer.
struct LtriLayer {
  bool looks_up = false;  ///< whether the layer has an index of its own
  /// The query head whose scores select blocks (retrieval head); -1: the sum over all heads.
  int head = -1;
  float weight = 0;    ///< weight of the layer's blocks in the vote of several layers
  SpanTokenRule rule;  ///< rule that divides blocks into spans
};

/// Returns the settings of each layer. Throws UserError if options contradict each other or do not
/// fit the layers and heads of the model.
std::vector<LtriLayer> ltri_layers(const LtriOptions& options, const ModelShape& shape);

}  // namespace longhaul
