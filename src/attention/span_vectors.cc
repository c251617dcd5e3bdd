#include "attention/span_vectors.h"

#include <algorithm>

#include "ops/ranking.h"
#include "ops/span_division.h"

namespace longhaul {

int64_t SpanVectors::width(int layer) const {
  const int heads = rule(layer).head >= 0 ? 1 : shape_.kv_heads[static_cast<size_t>(layer)];
  return int64_t{heads} * shape_.head_dim;
}

DType SpanVectors::index_type(int layer, DType keys) const {
  const bool fits = width(layer) % traits(DType::Q4_0).block_size == 0;
  if (rule(layer).head < 0 && keys != DType::F32 && fits) return DType::Q4_0;
  return KeyVectors::type_for(keys);
}

void SpanVectors::add_block(const LayerStep& step, const AgedBlock& block, const BlockMap& map,
                            SpanIndex& index) const {
  const size_t heads = static_cast<size_t>(shape_.heads);
  const DType type = index_type(step.layer, step.store->layout().type);
  std::vector<float> votes(static_cast<size_t>(o_.blocks.block)), vectors;
  std::vector<float> unused(static_cast<size_t>(shape_.head_dim));
  for (size_t i = 0; i < block.votes.size(); ++i) votes[i / heads] += block.votes[i];
  for (const std::vector<int32_t>& tokens : tokens_by_span(step.layer, map, votes)) {
    vectors.clear();
    for (const int32_t token : tokens) add_key(step, block.first + token, unused, vectors);
    index.add_span(vectors, width(step.layer), type);
  }
  index.end_block();
}

std::vector<float> SpanVectors::of_rows(const LayerStep& step, const ContextBlocks& blocks,
                                        BlockMaps& maps) const {
  const auto query = [&](int row) {
    return blocks.far_q() + static_cast<int64_t>(row) * shape_.heads * shape_.head_dim;
  };
  std::vector<float> vectors;
  if (o_.queries == LtriQueries::kRows || step.rows == 1) {
    for (int r = std::max(0, step.rows - o_.query_rows); r < step.rows; ++r) {
      add_query(step, query(r), vectors);
    }
    return vectors;
  }
  const int block = static_cast<int>(o_.blocks.block);
  for (int first = 0; first < step.rows; first += block) {
    const int rows = std::min(block, step.rows - first);
    const BlockMap map = maps.of_rows(step, blocks, first, rows);
    std::vector<float> votes(static_cast<size_t>(rows));
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j <= i; ++j) votes[static_cast<size_t>(j)] += map.at(i, j);
    }
    for (const std::vector<int32_t>& tokens : tokens_by_span(step.layer, map, votes)) {
      const size_t begin = vectors.size();
      for (const int32_t token : tokens) add_query(step, query(first + token), vectors);
      if (o_.similarity == SpanSimilarity::kSum) sum_from(begin, step.layer, vectors);
    }
  }
  return vectors;
}

/// Of every span of a block the tokens that stand for it, by their votes [tokens of the block].
std::vector<std::vector<int32_t>> SpanVectors::tokens_by_span(int layer, const BlockMap& map,
                                                              std::span<const float> votes) const {
  const LtriLayer& r = rule(layer);
  const int most = (o_.vectors + o_.spans - 1) / o_.spans;
  std::vector<std::vector<int32_t>> by_span;
  for (const TokenSpan& span :
       divide_into_spans(map, {map_quantile(map, r.theta), r.phi, o_.spans})) {
    const int count = index_count(span.length(), span_ratio(map, span, o_.ratio), r.lambda, most);
    const auto of_span =
        votes.subspan(static_cast<size_t>(span.begin), static_cast<size_t>(span.length()));
    std::vector<int32_t>& tokens = by_span.emplace_back(top_indices(of_span, count));
    for (int32_t& token : tokens) token += span.begin;
  }
  return by_span;
}

/// Appends the key of a row of the store; `unused` [head_dim] takes its value.
void SpanVectors::add_key(const LayerStep& step, int64_t row, std::span<float> unused,
                          std::vector<float>& vectors) const {
  const int64_t dim = shape_.head_dim, heads = width(step.layer) / dim;
  const int head = rule(step.layer).head;
  const size_t at = vectors.size();
  vectors.resize(at + static_cast<size_t>(heads * dim));
  for (int64_t i = 0; i < heads; ++i) {
    const int list = head >= 0 ? head / step.group() : static_cast<int>(i);
    step.store->read(step.layer, list, row, vectors.data() + at + i * dim, unused.data());
  }
}

/// Appends the query of a row, q [heads, head_dim].
void SpanVectors::add_query(const LayerStep& step, const float* q,
                            std::vector<float>& vectors) const {
  const int dim = shape_.head_dim, head = rule(step.layer).head;
  if (head >= 0) return void(vectors.insert(vectors.end(), q + head * dim, q + (head + 1) * dim));
  const size_t at = vectors.size();
  vectors.resize(at + static_cast<size_t>(width(step.layer)));
  for (int h = 0; h < shape_.heads; ++h) {
    float* to = vectors.data() + at + h / step.group() * dim;
    for (int t = 0; t < dim; ++t) to[t] += q[h * dim + t];
  }
}

/// Vectors from element `begin` on become one, their sum.
void SpanVectors::sum_from(size_t begin, int layer, std::vector<float>& vectors) const {
  const size_t one = static_cast<size_t>(width(layer));
  for (size_t at = begin + one; at < vectors.size(); ++at) {
    vectors[begin + (at - begin) % one] += vectors[at];
  }
  vectors.resize(begin + one);
}

}  // namespace longhaul
