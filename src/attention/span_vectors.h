#pragma once
// The vectors that stand for a span of tokens in Ltri-LLM's look-ups (arXiv:2412.04757, 3.3 and
// 3.4). A block is divided into spans by its attention map (ops/span_division.h). Of a span s those
// n tokens stand for it that got most votes, the more the less its neighbours know of it:
//
//   n = ceil(|s| * exp(-lambda * (1 - ratio(s)))), from 1 to ceil(vectors / spans) and |s|
//
// In the index it is the keys of these tokens; of a step that looks up, their queries. In a layer
// with a retrieval head both are that head's; else vectors of all heads, one KV head g after the
// other:
//
//   key of token j, as it is stored          k[j, g]
//   query of row i, at the constant angle    sum over the query heads h of g of q[i, h]
//
// so that <query, key> is the head's raw score, or the sum of all heads' scores.

#include <span>
#include <vector>

#include "attention/block_maps.h"
#include "attention/ltri_options.h"
#include "attention/span_index.h"

namespace longhaul {

class SpanVectors {
 public:
  SpanVectors(const LtriOptions& options, const ModelShape& shape) : o_(options), shape_(shape) {}

  /// Floats of a vector of the layer: the head dimension, or that of all KV heads.
  int64_t width(int layer) const;

  /// How the layer's index keeps them beside keys of the type: all heads' keys in 4 bits (every
  /// token reads them), a retrieval head's as bf16; f32 where the keys are.
  DType index_type(int layer, DType keys) const;

  /// Divides a block that has left the remainder into spans by its `map`; adds them to the layer's
  /// index. Tokens' votes are summed over the query heads.
  void add_block(const LayerStep& step, const AgedBlock& block, const BlockMap& map,
                 SpanIndex& index) const;

  /// [count, width]: what the step looks up by. Its rows are divided into spans `block` rows at a
  /// time, each part by what it pays itself, which is its tokens' votes too. With the similarity
  /// kSum a span is the sum of its vectors: <sum of q, k> summed over k is the paper's double sum.
  /// With queries=rows: the last `query_rows` rows, each for itself; a single row always.
  std::vector<float> of_rows(const LayerStep& step, const ContextBlocks& blocks,
                             BlockMaps& maps) const;

 private:
  const LtriLayer& rule(int layer) const { return o_.layers[static_cast<size_t>(layer)]; }
  std::vector<std::vector<int32_t>> tokens_by_span(int layer, const BlockMap& map,
                                                   std::span<const float> votes) const;
  void add_key(const LayerStep& step, int64_t row, std::span<float> unused,
               std::vector<float>& vectors) const;
  void add_query(const LayerStep& step, const float* q, std::vector<float>& vectors) const;
  void sum_from(size_t begin, int layer, std::vector<float>& vectors) const;

  LtriOptions o_;
  ModelShape shape_;
};

}  // namespace longhaul
