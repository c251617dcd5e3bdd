// The GPU's operations of this method.

#include "attention/methods/ltri/block_votes.gpu.h"
#include "attention/methods/ltri/block_votes.h"
#include "attention/methods/ltri/span_index.h"
#include "attention/methods/ltri/span_tasks.h"
#include "attention/methods/ltri/tile_maps.gpu.h"
#include "ops/blocks/block_rooms.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/score_plan.h"
#include "ops/maps/scored.gpu.h"

namespace longhaul::cuda {
namespace {

bool run_choose_span_tokens(GpuQueue& queue, const DividedTokens& blocks, const SpanTokenRule& rule,
                            View<int32_t> tokens) {
  auto& rooms = queue.own<BlockRooms>();
  if (blocks.block > kMostSpanTokens || rule.spans > kMostSpanTokens) return false;
  if (rule.spans < 1) return false;
  SpanTasks tasks = span_tasks(blocks, rule, tokens.address());
  rooms.scratch.at_least(static_cast<size_t>(tasks.blocks() * tasks.scratch_bytes));
  tasks.first.scratch = static_cast<std::byte*>(rooms.scratch.data);
  choose_span_tokens(queue.handle(), tasks);
  return true;
}

bool run_gather_span_keys(GpuQueue& queue, std::span<const PagedRows> lists, int64_t first,
                          int block, const SpanTokens& tokens, View<float> keys) {
  auto& rooms = queue.own<BlockRooms>();
  if (!can_read(lists.front())) return false;
  gather_span_keys(queue.handle(), form_of(lists.front()), rooms.upload_tables(lists),
                   static_cast<int>(lists.size()), first, block, token_records(tokens),
                   keys.address());
  return true;
}

void run_mean_of_spans(GpuQueue& queue, const SpanTokens& tokens, View<const float> keys,
                       SpanTokens& one, View<float> means) {
  const TokenRecords records = token_records(tokens);
  const int64_t places = records.blocks * records.most;
  mean_of_spans(queue.handle(), records, keys.address(), static_cast<int>(keys.size() / places),
                one.numbers().address(), means.address());
}

void run_span_queries(GpuQueue& queue, const SpanQueries& queries, int block,
                      const SpanTokens& tokens, const SomeBlocks& blocks, VectorList& to) {
  TokenRecords records = token_records(tokens);
  records.numbers = tokens.records(blocks).address();
  records.blocks = blocks.count;
  span_queries(queue.handle(), query_form(queries), block, records, to.numbers().address(),
               to.counted().address());
}

void run_row_queries(GpuQueue& queue, const SpanQueries& queries, int64_t begin, int64_t end,
                     VectorList& to) {
  row_queries(queue.handle(), query_form(queries), begin, end, to.numbers().address(),
              to.counted().address());
}

/// best_products() only reads the products, so the cast is safe.
ProductTable product_table(const SlottedSpans& spans, const VectorList& queries,
                           View<const float> products) {
  const int64_t most = queries.most();
  return {const_cast<float*>(products.address()), products.size() / (spans.blocks * most), most};
}

bool run_span_products(GpuQueue& queue, const SlottedSpans& spans, const VectorList& queries,
                       SpanSimilarity rule, View<float> products) {
  return span_products(queue.handle(), span_table(spans), queries.numbers().address(),
                       queries.counted().address(), rule == SpanSimilarity::kSum,
                       product_table(spans, queries, products));
}

void run_best_products(GpuQueue& queue, const SlottedSpans& spans, const VectorList& queries,
                       SpanSimilarity rule, View<const float> products, View<float> scores) {
  best_products(queue.handle(), span_table(spans), queries.counted().address(),
                rule == SpanSimilarity::kSum, product_table(spans, queries, products),
                scores.address());
}

void run_most_weighted(GpuQueue& queue, View<const float> weights, View<const float> scores,
                       View<int32_t> rows) {
  auto& rooms = queue.own<BlockRooms>();
  rooms.scratch.at_least(static_cast<size_t>(weights.size()) * sizeof(float));
  most_weighted(queue.handle(), {weights.address(), scores.address(), weights.size(), rows.size(),
                                 static_cast<float*>(rooms.scratch.data), rows.address()});
}

}  // namespace

void implement_ltri(GpuQueue& queue) {
  queue.implement(kTileMaps, scored<tile_maps>);
  queue.implement(kChooseSpanTokens, run_choose_span_tokens);
  queue.implement(kGatherSpanKeys, run_gather_span_keys);
  queue.implement(kMeanOfSpans, run_mean_of_spans);
  queue.implement(kSpanQueries, run_span_queries);
  queue.implement(kRowQueries, run_row_queries);
  queue.implement(kSubtractRow, [](GpuQueue& on, View<const float> row, View<float> rows) {
    subtract_row(on.handle(), row.address(), row.size(), rows.address(), rows.size());
  });
  queue.implement(kSpanScores, [](GpuQueue& on, const SlottedSpans& spans,
                                  const VectorList& queries, SpanSimilarity rule,
                                  View<float> scores) {
    return span_scores(on.handle(), span_table(spans), queries.numbers().address(),
                       queries.counted().address(), rule == SpanSimilarity::kSum, scores.address());
  });
  queue.implement(
      kAddWeight, [](GpuQueue& on, View<const int32_t> chosen, float weight, View<float> weights) {
        add_weight(on.handle(), chosen.address(), chosen.size(), weight, weights.address());
      });
  queue.implement(kSpanProducts, run_span_products);
  queue.implement(kBestProducts, run_best_products);
  queue.implement(kMostWeighted, run_most_weighted);
}

}  // namespace longhaul::cuda
