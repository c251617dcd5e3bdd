#include "ops/core/gpu/block_ops.gpu.h"

#include "ops/blocks/block_vectors.gpu.h"
#include "ops/blocks/block_votes.gpu.h"
#include "ops/blocks/span_tasks.h"
#include "ops/choose/block_lists.gpu.h"
#include "ops/core/score_vectors.gpu.h"
#include "ops/maps/score_plan.h"

namespace longhaul::cuda {

/// Uploads the tables unless the previous call's are equal, since a copy between two kernels takes
/// 5 us.
const PageTable* BlockOps::upload_tables(std::span<const PagedRows> lists) {
  tables_.clear();
  for (const PagedRows& list : lists) tables_.push_back(table_of(list));
  if (tables_ != sent_tables_) {
    sent_tables_.clear();
    lists_.upload(std::span<const PageTable>(tables_));
    sent_tables_ = tables_;
  }
  return static_cast<const PageTable*>(lists_.data);
}

bool BlockOps::choose_mean_blocks(const TiledRows& rows, int64_t first,
                                  std::span<const MeanBlocks> tasks) {
  if (rows.head_dim > kMostMeanDim || rows.queries.place().host()) return false;
  mean_tasks_.clear();
  for (const MeanBlocks& task : tasks) {
    if (task.means.place().host() || task.seen.place().host()) return false;
    mean_tasks_.push_back({task.count, task.means.address(), task.seen.address(), task.head});
  }
  const TileGrid& grid = rows.grid;
  const int64_t from = grid.tile_of(first);
  const int64_t numbers = std::ssize(tasks) * (grid.blocks() - from) * grid.blocks();
  chosen_.at_least(static_cast<size_t>(numbers) * (sizeof(float) + sizeof(int32_t)));
  auto* const scores = static_cast<float*>(chosen_.data);
  cuda::choose_mean_blocks(stream(),
                           {.queries = rows.queries.address(),
                            .heads = rows.heads,
                            .head_dim = rows.head_dim,
                            .grid = grid,
                            .first_tile = from,
                            .tasks = tasks_.upload(std::span<const MeanBlocksTask>(mean_tasks_)),
                            .task_count = static_cast<int>(tasks.size()),
                            .scores = scores,
                            .chosen = reinterpret_cast<int32_t*>(scores + numbers)});
  return true;
}

bool BlockOps::store_vectors(View<const float> x, DType type, View<uint8_t> to) {
  if (x.place().host() || to.place().host()) return false;
  return cuda::store_vectors(stream(), x.address(), x.size(), type, to.address());
}

bool BlockOps::block_scores(const BlockVectors& index, View<const float> query,
                            View<float> scores) {
  if (index.vectors.place().host() || query.place().host()) return false;
  return cuda::block_scores(
      stream(),
      {index.vectors.address(), index.type, scores.size(), static_cast<int>(index.heads),
       static_cast<int>(index.count), static_cast<int>(index.head_dim)},
      query.address(), scores.address());
}

bool BlockOps::block_representatives(const RepresentativesCall& call, View<float> out) {
  if (call.votes.place().host() || out.place().host()) return false;
  if (!can_read(call.lists.front())) return false;
  const int64_t tokens = call.votes.size() / call.heads / call.blocks;
  const auto columns = static_cast<size_t>(call.votes.size()) * sizeof(float);
  const auto chosen = static_cast<size_t>(call.blocks * call.heads * call.count) * sizeof(int32_t);
  chosen_.at_least(columns + chosen);
  auto* const numbers = static_cast<std::byte*>(chosen_.data);
  cuda::block_representatives(stream(), form_of(call.lists.front()),
                              {.lists = upload_tables(call.lists),
                               .first = call.first,
                               .tokens = tokens,
                               .votes = call.votes.address(),
                               .heads = call.heads,
                               .kv_heads = static_cast<int>(call.lists.size()),
                               .count = call.count,
                               .mean = call.mean,
                               .blocks = call.blocks,
                               .columns = reinterpret_cast<float*>(numbers),
                               .chosen = reinterpret_cast<int32_t*>(numbers + columns),
                               .out = out.address()});
  return true;
}

bool BlockOps::block_rows(int64_t first, View<const int32_t> blocks, int64_t block, int64_t begin,
                          View<int32_t> rows) {
  cuda::block_rows(stream(), first, blocks.address(), blocks.size(), block, begin, rows.address());
  return true;
}

bool BlockOps::add_transposed(View<const float> x, int64_t columns, View<float> to) {
  if (x.place().host() || to.place().host()) return false;
  cuda::add_transposed(stream(), x.address(), x.size() / columns, columns, to.address());
  return true;
}

bool BlockOps::choose_span_tokens(const DividedTokens& blocks, const SpanTokenRule& rule,
                                  View<int32_t> tokens) {
  if (blocks.block > kMostSpanTokens || rule.spans > kMostSpanTokens) return false;
  if (rule.spans < 1 || blocks.maps.place().host()) return false;
  if (!blocks.votes.empty() && blocks.votes.place().host()) return false;
  SpanTasks tasks = span_tasks(blocks, rule, tokens.address());
  chosen_.at_least(static_cast<size_t>(tasks.blocks() * tasks.scratch_bytes));
  tasks.first.scratch = static_cast<std::byte*>(chosen_.data);
  cuda::choose_span_tokens(stream(), tasks);
  return true;
}

bool BlockOps::gather_span_keys(std::span<const PagedRows> lists, int64_t first, int block,
                                const SpanTokens& tokens, View<float> keys) {
  if (!can_read(lists.front())) return false;
  cuda::gather_span_keys(stream(), form_of(lists.front()), upload_tables(lists),
                         static_cast<int>(lists.size()), first, block, token_records(tokens),
                         keys.address());
  return true;
}

bool BlockOps::mean_of_spans(const SpanTokens& tokens, View<const float> keys, SpanTokens& one,
                             View<float> means) {
  const TokenRecords records = token_records(tokens);
  const int64_t places = records.blocks * records.most;
  cuda::mean_of_spans(stream(), records, keys.address(), static_cast<int>(keys.size() / places),
                      one.numbers().address(), means.address());
  return true;
}

bool BlockOps::span_queries(const SpanQueries& queries, int block, const SpanTokens& tokens,
                            const SomeBlocks& blocks, VectorList& to) {
  if (queries.q.place().host()) return false;
  TokenRecords records = token_records(tokens);
  records.numbers = tokens.records(blocks).address();
  records.blocks = blocks.count;
  cuda::span_queries(stream(), query_form(queries), block, records, to.numbers().address(),
                     to.counted().address());
  return true;
}

bool BlockOps::row_queries(const SpanQueries& queries, int64_t begin, int64_t end, VectorList& to) {
  if (queries.q.place().host()) return false;
  cuda::row_queries(stream(), query_form(queries), begin, end, to.numbers().address(),
                    to.counted().address());
  return true;
}

bool BlockOps::subtract_row(View<const float> row, View<float> rows) {
  cuda::subtract_row(stream(), row.address(), row.size(), rows.address(), rows.size());
  return true;
}

bool BlockOps::span_scores(const SlottedSpans& spans, const VectorList& queries,
                           SpanSimilarity rule, View<float> scores) {
  return cuda::span_scores(stream(), span_table(spans), queries.numbers().address(),
                           queries.counted().address(), rule == SpanSimilarity::kSum,
                           scores.address());
}

namespace {

/// Kernels only read the products of best_products().
cuda::ProductTable product_table(const SlottedSpans& spans, const VectorList& queries,
                                 View<const float> products) {
  const int64_t most = queries.most();
  return {const_cast<float*>(products.address()), products.size() / (spans.blocks * most), most};
}

}  // namespace

bool BlockOps::span_products(const SlottedSpans& spans, const VectorList& queries,
                             SpanSimilarity rule, View<float> products) {
  return cuda::span_products(stream(), span_table(spans), queries.numbers().address(),
                             queries.counted().address(), rule == SpanSimilarity::kSum,
                             product_table(spans, queries, products));
}

bool BlockOps::best_products(const SlottedSpans& spans, const VectorList& queries,
                             SpanSimilarity rule, View<const float> products, View<float> scores) {
  cuda::best_products(stream(), span_table(spans), queries.counted().address(),
                      rule == SpanSimilarity::kSum, product_table(spans, queries, products),
                      scores.address());
  return true;
}

bool BlockOps::add_weight(View<const int32_t> chosen, float weight, View<float> weights) {
  cuda::add_weight(stream(), chosen.address(), chosen.size(), weight, weights.address());
  return true;
}

bool BlockOps::most_weighted(View<const float> weights, View<const float> scores,
                             View<int32_t> rows) {
  chosen_.at_least(static_cast<size_t>(weights.size()) * sizeof(float));
  cuda::most_weighted(stream(), {weights.address(), scores.address(), weights.size(), rows.size(),
                                 static_cast<float*>(chosen_.data), rows.address()});
  return true;
}

}  // namespace longhaul::cuda
