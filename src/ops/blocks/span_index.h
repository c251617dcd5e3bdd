#pragma once
// The index of one layer's blocks: every block is a list of spans, every span a list of vectors
// (Ltri-LLM, arXiv:2412.04757, 3.3 and 3.4).

#include <cstdint>
#include <vector>

#include "ops/blocks/key_vectors.h"
#include "ops/blocks/span_slots.h"
#include "ops/matmul/linear.h"

namespace longhaul {

/// One key of each span, reused from call to call: the mean of all of its tokens' keys, which
/// stands for the span's first token alone.
struct SpanMeans {
  SpanTokens tokens;  ///< one of each span
  Array<float> keys;  ///< [blocks, spans, width], zeros behind the spans that there are
};

/// Of `keys` as gather_span_keys() laid them for `tokens`.
void mean_of_spans(Queue& queue, const SpanTokens& tokens, View<const float> keys,
                   SpanMeans& means);

/// Memory of a look-up, reused from call to call.
struct SpanSearch {
  Array<float> dots;          ///< of an index's vectors and the queries
  std::vector<float> common;  ///< of the queries and what all vectors have in common
  std::vector<MatvecJob> jobs;
  ActivationRows few;
  LinearInput many;
};

class SpanIndex {
 public:
  /// A block has at most so many spans, a span so many vectors.
  SpanIndex(int spans, int most) : spans_(spans), most_(most) {}

  /// Adds blocks: of each of their spans the vectors (gather_span_keys()), kept as `type`
  /// (KeyVectors; Q4_0 rounds scores, and its width is a multiple of 32). Width and type never
  /// change. May change the vectors.
  void add_blocks(Queue& queue, const SpanTokens& spans, View<float> vectors, DType type);
  /// The same span by span, on the host; vectors are [count, width].
  void add_span(View<const float> vectors, int64_t width, DType type);
  void end_block();

  int64_t blocks() const { return blocks_; }
  int64_t vectors() const;  ///< on the host
  size_t bytes() const;     ///< of the vectors
  /// Whether vectors of the type may be added.
  bool takes(DType type) const;

  /// scores [blocks()]: of every block the largest over its spans and over the queries of the sum,
  /// or the largest, of <query, vector> over the span's vectors.
  void scores(Queue& queue, const VectorList& queries, SpanSimilarity rule, SpanSearch& memory,
              View<float> scores);

  /// Throws UserError when the file makes no sense.
  void archive(Archive& archive, int64_t width);

 private:
  /// Blocks whose products with all queries stay in the caches until their scores are known.
  struct Group {
    KeyVectors vectors;               ///< [vectors, width]
    std::vector<int32_t> span_ends;   ///< per span: vectors up to its end
    std::vector<int32_t> block_ends;  ///< per block: spans up to its end

    int64_t count() const { return span_ends.empty() ? 0 : span_ends.back(); }
    void add(std::span<const float> common, float* dots) const;
    void raise(const float* dots, int64_t queries, SpanSimilarity rule, float* scores) const;
    void archive(Archive& archive);
    bool makes_sense(int64_t width, bool last) const;
  };
  Group& open_group();
  void move_to_device(Queue& queue);
  SpanIndex on_host() const;
  void scores_on_device(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                        View<float> scores);
  void find_common_products(std::span<const float> queries, SpanSearch& memory) const;
  void score_few(std::span<const float> queries, int64_t count, SpanSimilarity rule,
                 SpanSearch& memory, float* scores) const;
  void score_many(std::span<const float> queries, int64_t count, SpanSimilarity rule,
                  SpanSearch& memory, float* scores) const;

  int spans_, most_;
  int64_t blocks_ = 0;
  /// Of Q4_0: the first vector, which all are kept less of. What keys have in common would take
  /// most of the range.
  std::vector<float> common_;
  std::vector<Group> groups_;  ///< of kGroupBlocks blocks, the last one of fewer
  SpanSlots slots_;            ///< on a device: all blocks
};

}  // namespace longhaul
