// The GPU's operations of this folder: the indexes of InfLLM and Ltri-LLM.

#include <vector>

#include "ops/attention/kv.h"
#include "ops/blocks/block_index.h"
#include "ops/blocks/block_representatives.h"
#include "ops/blocks/block_rows.h"
#include "ops/blocks/block_vectors.gpu.h"
#include "ops/blocks/block_votes.gpu.h"
#include "ops/blocks/block_votes.h"
#include "ops/blocks/span_index.h"
#include "ops/blocks/span_tasks.h"
#include "ops/choose/block_lists.gpu.h"
#include "ops/core/gpu/operations.gpu.h"
#include "ops/core/gpu/room.h"
#include "ops/maps/score_plan.h"

namespace longhaul::cuda {
namespace {

/// Memory of the operations on blocks.
struct BlockRooms {
  explicit BlockRooms(GpuQueue& queue) : lists(queue), scratch(queue) {}

  /// Uploads the tables unless the previous call's are equal, since a copy between two kernels
  /// takes 5 us.
  const PageTable* upload_tables(std::span<const PagedRows> of) {
    tables.clear();
    for (const PagedRows& list : of) tables.push_back(table_of(list));
    if (tables != sent) {
      sent.clear();
      lists.upload(std::span<const PageTable>(tables));
      sent = tables;
    }
    return static_cast<const PageTable*>(lists.data);
  }

  Room lists, scratch;
  std::vector<PageTable> tables, sent;
};

bool run_block_representatives(GpuQueue& queue, const RepresentativesCall& call, View<float> out) {
  auto& rooms = queue.own<BlockRooms>();
  if (!can_read(call.lists.front())) return false;
  const int64_t tokens = call.votes.size() / call.heads / call.blocks;
  const auto columns = static_cast<size_t>(call.votes.size()) * sizeof(float);
  const auto chosen = static_cast<size_t>(call.blocks * call.heads * call.count) * sizeof(int32_t);
  rooms.scratch.at_least(columns + chosen);
  auto* const numbers = static_cast<std::byte*>(rooms.scratch.data);
  block_representatives(queue.handle(), form_of(call.lists.front()),
                        {.lists = rooms.upload_tables(call.lists),
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

/// Kernels only read the products of best_products().
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

void implement_blocks(GpuQueue& queue) {
  queue.implement(kStoreVectors,
                  [](GpuQueue& on, View<const float> x, DType type, View<uint8_t> to) {
                    return store_vectors(on.handle(), x.address(), x.size(), type, to.address());
                  });
  queue.implement(kBlockScores, [](GpuQueue& on, const BlockVectors& index, View<const float> query,
                                   View<float> scores) {
    return block_scores(
        on.handle(),
        {index.vectors.address(), index.type, scores.size(), static_cast<int>(index.heads),
         static_cast<int>(index.count), static_cast<int>(index.head_dim)},
        query.address(), scores.address());
  });
  queue.implement(kBlockRepresentatives, run_block_representatives);
  queue.implement(kBlockRows, [](GpuQueue& on, int64_t first, View<const int32_t> blocks,
                                 int64_t block, int64_t begin, View<int32_t> rows) {
    block_rows(on.handle(), first, blocks.address(), blocks.size(), block, begin, rows.address());
  });
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
