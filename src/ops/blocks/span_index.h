#pragma once
// The index of the blocks of one layer (Ltri-LLM, arXiv:2412.04757, 3.3 and 3.4). A block is a list
// of spans, and a span is a list of vectors.

#include <cstdint>
#include <vector>

#include "ops/blocks/key_vectors.h"
#include "ops/blocks/span_slots.h"
#include "ops/matmul/linear.h"

namespace longhaul {

/// One key per span, which is the mean of the keys of all tokens of the span. It is assigned to the
/// span's first token. The memory is reused from call to call.
struct SpanMeans {
  SpanTokens tokens;  ///< one token per span
  Array<float> keys;  ///< [blocks, spans, width], zeros after the last span
};

/// Computes means of `keys` in the layout of gather_span_keys() for `tokens`.
void mean_of_spans(Queue& queue, const SpanTokens& tokens, View<const float> keys,
                   SpanMeans& means);
/// Writes the contents of SpanMeans, whose sizes are set.
inline const DeviceOperation<bool(const SpanTokens&, View<const float> keys, SpanTokens& one,
                                  View<float> means)>
    kMeanOfSpans;

/// Memory of a look-up, reused from call to call.
struct SpanSearch {
  Array<float> dots;          ///< products of an index's vectors with the queries
  Array<float> products;      ///< on a rank: products, or their sums by span
  std::vector<float> common;  ///< products of the queries with the common vector
  std::vector<MatvecJob> jobs;
  ActivationRows decode;
  LinearInput many;
};

class SpanIndex {
 public:
  /// Limits: spans per block and vectors per span.
  SpanIndex(int spans, int most) : spans_(spans), most_(most) {}

  /// Adds blocks with the vectors of their spans (gather_span_keys()), stored as `type`
  /// (KeyVectors). Q4_0 rounds scores, and needs a width that is a multiple of 32. Width and type
  /// must not change between calls. May modify the vectors.
  void add_blocks(Queue& queue, const SpanTokens& spans, View<float> vectors, DType type);
  /// Variant of add_blocks() for single spans, on the host; vectors are [count, width].
  void add_span(View<const float> vectors, int64_t width, DType type);
  void end_block();

  int64_t blocks() const { return blocks_; }
  int64_t vectors() const;  ///< only on the host
  size_t bytes() const;     ///< bytes of the vectors
  /// Returns whether vectors of the type may be added.
  bool takes(DType type) const;

  /// Writes to scores [blocks()] for every block the largest value over its spans and over the
  /// queries. The value of a span is the sum or the largest of <query, vector> over its vectors.
  void scores(Queue& queue, const VectorList& queries, SpanSimilarity rule, SpanSearch& memory,
              View<float> scores);
  /// Variant for vectors that are divided over ranks: the vectors of the index and the queries are
  /// this rank's part of the elements. Products are summed over the ranks before the maximum.
  void scores_of_ranks(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                       SpanSearch& memory, View<float> scores);

  /// Throws UserError if the file is invalid.
  void archive(Archive& archive, int64_t width);

 private:
  /// Blocks whose products with all queries stay in the caches until their scores are computed.
  struct Group {
    KeyVectors vectors;               ///< [vectors, width]
    std::vector<int32_t> span_ends;   ///< per span: number of vectors up to its end
    std::vector<int32_t> block_ends;  ///< per block: number of spans up to its end

    int64_t count() const { return span_ends.empty() ? 0 : span_ends.back(); }
    void add(std::span<const float> common, float* dots) const;
    void raise(const float* dots, int64_t queries, SpanSimilarity rule, float* scores) const;
    void add_rows(const float* dots, SpanSimilarity rule, float* to, int64_t block,
                  int64_t row) const;
    void archive(Archive& archive);
    bool makes_sense(int64_t width, bool last) const;
  };
  Group& open_group();
  void move_to_device(Queue& queue);
  SpanIndex on_host() const;
  void scores_on_device(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                        View<float> scores);
  void find_common_products(std::span<const float> queries, SpanSearch& memory) const;
  template <class Use>
  void multiply(std::span<const float> queries, int64_t count, SpanSearch& memory,
                const Use& use) const;
  template <class Use>
  void multiply_few(std::span<const float> queries, int64_t count, SpanSearch& memory,
                    const Use& use) const;
  template <class Use>
  void multiply_many(std::span<const float> queries, int64_t count, SpanSearch& memory,
                     const Use& use) const;
  void write_products(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                      View<float> products);
  void best_products(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                     View<const float> products, View<float> scores) const;

  int spans_, most_;
  int64_t blocks_ = 0;
  /// With Q4_0: the first vector, which is subtracted from all. Otherwise the part common to all
  /// keys would use most of the range.
  std::vector<float> common_;
  std::vector<Group> groups_;  ///< kGroupBlocks blocks each, fewer in the last one
  SpanSlots slots_;            ///< on a device: all blocks
};

}  // namespace longhaul
