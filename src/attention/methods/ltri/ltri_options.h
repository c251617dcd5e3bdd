#pragma once
// The options of the method Ltri-LLM (docs/methods/ltri.md), and the settings of each layer that
// follow from them.

#include <string>
#include <vector>

#include "attention/methods/ltri/span_index.h"
#include "attention/methods/ltri/span_vectors.h"
#include "attention/parts/context_blocks.h"

namespace longhaul {

/// Two forms of the index of blocks of old tokens, and of the search by a step (one layer in one
/// pass). A search gives each block a score. kPaper is the published form. A few spans (ranges of
/// tokens) are selected in each block and in the step, and a few of its tokens represent each span.
/// The index holds the keys of these tokens. The score of a pair of spans is the sum of the dot
/// products of the step span's queries and the block span's keys. The score of a block is its best
/// pair's score. With kLonghaul, the index holds all keys of a block, and the last
/// LtriOptions::last query rows of the step search. The score of a block is the largest dot product
/// of one of their queries and one of its keys.
enum class LtriForm : uint8_t { kPaper, kLonghaul };
enum class LtriQueries : uint8_t { kSpans, kRows };
enum class LtriEarly : uint8_t { kAverage, kWindow };
enum class LtriDecode : uint8_t { kPersistent, kRefresh };

/// The options. declare() contains a description of each. `vote` is about the votes of retrieval
/// heads for blocks (block_votes.h), and not about the votes of tokens (span_vectors.h).
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
  /// Returns the options with which the method runs. With kPaper, this is an unchanged copy. With
  /// kLonghaul, the copy contains the values of spans, vectors, queries and similarity (and of
  /// related options) that result in this form. Users can set these options only with kPaper.
  LtriOptions in_form() const;
};

/// The settings of one layer.
struct LtriLayer {
  bool looks_up = false;  ///< whether the layer has an index and searches it
  /// The retrieval head: the query head whose scores select blocks. -1: the scores of all heads are
  /// summed.
  int head = -1;
  float weight = 0;    ///< weight of the retrieval head's votes for blocks (BlockVotes)
  SpanTokenRule rule;  ///< rule that selects the spans of a block
};

/// Returns the settings of each layer. Throws UserError if options contradict each other or do not
/// fit the layers and heads of the model.
std::vector<LtriLayer> ltri_layers(const LtriOptions& options, const ModelShape& shape);

}  // namespace longhaul
