#pragma once
// GPU operations on blocks of tokens (ops/core/device_ops.h): the indexes of InfLLM and Ltri-LLM,
// and blocks chosen by means.

#include <vector>

#include "ops/attention/attend.gpu.h"
#include "ops/attention/kv.h"
#include "ops/choose/mean_blocks.gpu.h"
#include "ops/core/device_ops.h"
#include "ops/core/device_room.h"
#include "ops/core/gpu/room.h"

namespace longhaul::cuda {

inline PageTable table_of(const PagedRows& rows) {
  LH_ASSERT(rows.listed != nullptr);
  return const_cast<PageTable>(rows.listed);
}

class BlockOps : public DeviceOps {
 public:
  bool choose_mean_blocks(const TiledRows& rows, int64_t first,
                          std::span<const MeanBlocks> tasks) override;
  bool store_vectors(View<const float> x, DType type, View<uint8_t> to) override;
  bool block_scores(const BlockVectors& index, View<const float> query,
                    View<float> scores) override;
  bool block_representatives(const RepresentativesCall& call, View<float> out) override;
  bool block_rows(int64_t first, View<const int32_t> blocks, int64_t block, int64_t begin,
                  View<int32_t> rows) override;
  bool add_transposed(View<const float> x, int64_t columns, View<float> to) override;
  bool choose_span_tokens(const DividedTokens& blocks, const SpanTokenRule& rule,
                          View<int32_t> tokens) override;
  bool gather_span_keys(std::span<const PagedRows> lists, int64_t first, int block,
                        const SpanTokens& tokens, View<float> keys) override;
  bool mean_of_spans(const SpanTokens& tokens, View<const float> keys, SpanTokens& one,
                     View<float> means) override;
  bool span_queries(const SpanQueries& queries, int block, const SpanTokens& tokens,
                    const SomeBlocks& blocks, VectorList& to) override;
  bool row_queries(const SpanQueries& queries, int64_t begin, int64_t end, VectorList& to) override;
  bool subtract_row(View<const float> row, View<float> rows) override;
  bool span_scores(const SlottedSpans& spans, const VectorList& queries, SpanSimilarity rule,
                   View<float> scores) override;
  bool span_products(const SlottedSpans& spans, const VectorList& queries, SpanSimilarity rule,
                     View<float> products) override;
  bool best_products(const SlottedSpans& spans, const VectorList& queries, SpanSimilarity rule,
                     View<const float> products, View<float> scores) override;
  bool add_weight(View<const int32_t> chosen, float weight, View<float> weights) override;
  bool most_weighted(View<const float> weights, View<const float> scores,
                     View<int32_t> rows) override;

 protected:
  explicit BlockOps(GpuQueue& queue) : queue_(queue) {}
  cudaStream_t stream() const { return queue_.handle(); }
  /// Pages that Hopper's copy engine reads, with 64 bf16 keys and values as DevicePages lays them
  /// out. Empty on other cards.
  PageRange engine_pages(int head_dim) const {
    if (queue_.capability() != 90) return {};
    const SlabRange& slabs = queue_.slabs();
    return {slabs.base(), slabs.bytes(), bf16_page_bytes(head_dim)};
  }

  GpuQueue& queue_;

 private:
  const PageTable* upload_tables(std::span<const PagedRows> lists);

  std::vector<PageTable> tables_, sent_tables_;
  std::vector<MeanBlocksTask> mean_tasks_;
  Room lists_{queue_}, chosen_{queue_}, tasks_{queue_};
};

}  // namespace longhaul::cuda
