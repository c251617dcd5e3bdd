#include "ops/span_vectors.h"

#include <algorithm>

#include "ops/host_copies.h"
#include "ops/stored_key.h"

namespace longhaul {
namespace {

/// By tokens.votes.
void choose(Queue& queue, const BlockMap& map, const SpanTokenRule& rule, SpanTokens& tokens) {
  const View<const float> votes(tokens.votes);
  tokens.tokens.clear();
  tokens.span_ends.clear();
  for (const TokenSpan& span :
       divide_into_spans(map, {map_quantile(map, rule.theta), rule.phi, rule.spans})) {
    const float ratio = span_ratio(map, span, rule.neighbours);
    const RowList chosen =
        select_rows(queue, votes.part(span.begin, span.length()),
                    RowsToKeep{.count = index_count(span.length(), ratio, rule.lambda, rule.most)},
                    tokens.of_span);
    for (const int32_t token : host_rows(chosen)) tokens.tokens.push_back(span.begin + token);
    tokens.span_ends.push_back(static_cast<int32_t>(tokens.tokens.size()));
  }
}

BlockMap map_of(View<const float> map, int n) {
  LH_ASSERT(map.size() == int64_t{n} * n);
  return {host(map).data(), n, n};
}

/// Appends the query of a row.
void add_query(const SpanQueries& queries, int64_t row, VectorList& to) {
  const int dim = queries.head_dim, group = queries.heads / queries.kv_heads;
  const float* const q = host(queries.q).data() + row * queries.heads * dim;
  float* const sum = host(to.add()).data();
  if (queries.head >= 0) return void(std::copy_n(q + queries.head * dim, dim, sum));
  for (int h = 0; h < queries.heads; ++h) {
    float* const of_list = sum + h / group * dim;
    for (int t = 0; t < dim; ++t) of_list[t] += q[h * dim + t];
  }
}

}  // namespace

void VectorList::sum_from(int64_t first) {
  const size_t one = static_cast<size_t>(width_), begin = static_cast<size_t>(first) * one;
  for (size_t at = begin + one; at < numbers_.size(); ++at) {
    numbers_[begin + (at - begin) % one] += numbers_[at];
  }
  numbers_.resize(begin + one);
}

void choose_span_tokens(Queue& queue, View<const float> map, int n, View<const float> votes,
                        const SpanTokenRule& rule, SpanTokens& tokens) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return choose_span_tokens(host_queue(), on(map), n, on(votes), rule, tokens);
  }
  const int64_t heads = votes.size() / n;
  tokens.votes.assign(static_cast<size_t>(n), 0.0f);
  const std::span<const float> of_heads = host(votes);
  for (size_t i = 0; i < of_heads.size(); ++i) {
    tokens.votes[i / static_cast<size_t>(heads)] += of_heads[i];
  }
  choose(queue, map_of(map, n), rule, tokens);
}

void choose_span_tokens(Queue& queue, View<const float> map, int n, const SpanTokenRule& rule,
                        SpanTokens& tokens) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return choose_span_tokens(host_queue(), on(map), n, rule, tokens);
  }
  const BlockMap block = map_of(map, n);
  tokens.votes.assign(static_cast<size_t>(n), 0.0f);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) tokens.votes[static_cast<size_t>(j)] += block.at(i, j);
  }
  choose(queue, block, rule, tokens);
}

void gather_span_keys(Queue& queue, std::span<const PagedRows> lists, int64_t first,
                      const SpanTokens& tokens, VectorList& keys) {
  if (!queue.on_host()) {
    HostCopies on(queue);
    const int32_t last = tokens.tokens.empty() ? -1 : *std::ranges::max_element(tokens.tokens);
    std::vector<PagedRows> here;
    for (const PagedRows& list : lists) here.push_back(on(list, first, first + last + 1));
    return gather_span_keys(host_queue(), here, first, tokens, keys);
  }
  LH_ASSERT(!lists.empty());
  const int64_t dim = lists.front().head_dim;
  keys.clear(std::ssize(lists) * dim);
  for (const int32_t token : tokens.tokens) {
    float* to = host(keys.add()).data();
    for (const PagedRows& list : lists) {
      read_key(list, first + token, to);
      to += dim;
    }
  }
}

void add_span_queries(Queue& queue, const SpanQueries& queries, int64_t first,
                      const SpanTokens& tokens, VectorList& to) {
  if (!queue.on_host()) {
    HostStage on(queue);
    SpanQueries here = queries;
    here.q = on(queries.q);
    return add_span_queries(host_queue(), here, first, tokens, to);
  }
  LH_ASSERT(to.width() == queries.width());
  size_t at = 0;
  for (const int32_t end : tokens.span_ends) {
    const int64_t begin = to.count();
    for (; at < static_cast<size_t>(end); ++at) add_query(queries, first + tokens.tokens[at], to);
    if (queries.sum_of_span) to.sum_from(begin);
  }
}

void add_row_queries(Queue& queue, const SpanQueries& queries, int64_t begin, int64_t end,
                     VectorList& to) {
  if (!queue.on_host()) {
    HostStage on(queue);
    SpanQueries here = queries;
    here.q = on(queries.q);
    return add_row_queries(host_queue(), here, begin, end, to);
  }
  LH_ASSERT(to.width() == queries.width());
  for (int64_t row = begin; row < end; ++row) add_query(queries, row, to);
}

}  // namespace longhaul
