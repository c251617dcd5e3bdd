#pragma once
// The index of the blocks of one layer (Ltri-LLM, arXiv:2412.04757, sections 3.3 and 3.4). A block
// is a list of spans, and a span is a list of vectors.

#include <cstdint>
#include <vector>

#include "attention/methods/ltri/span_slots.h"
#include "ops/blocks/key_vectors.h"
#include "ops/matmul/linear.h"

namespace longhaul {

/// One mean key per span: the mean of the keys of the tokens that represent it. It is assigned to
/// the span's first token. The memory is reused between calls.
struct SpanMeans {
  SpanTokens tokens;  ///< one token per span, the first one
  Array<float> keys;  ///< [blocks, spans, width], zeros after the last span
};

/// Computes the mean of `keys` over each span of `tokens`. `keys` has the layout of
/// gather_span_keys().
void mean_of_spans(Queue& queue, const SpanTokens& tokens, View<const float> keys,
                   SpanMeans& means);
/// Writes the contents of SpanMeans, whose arrays are already allocated.
inline const DeviceOperation<bool(const SpanTokens&, View<const float> keys, SpanTokens& one,
                                  View<float> means)>
    kMeanOfSpans;

/// Buffers of a search, reused between calls.
struct SpanSearch {
  Array<float> dots;          ///< dot products of the index's vectors and the queries
  Array<float> products;      ///< with several ranks: products, or their sums per span
  std::vector<float> common;  ///< dot products of the queries and the common vector
  std::vector<MatvecJob> jobs;
  ActivationRows decode;
  LinearInput many;
};

class SpanIndex {
 public:
  /// `spans` is the largest number of spans per block, and `most` the largest number of vectors per
  /// span.
  SpanIndex(int spans, int most) : spans_(spans), most_(most) {}

  /// Adds blocks with the vectors of their spans (gather_span_keys()), stored as `type`
  /// (KeyVectors). Q4_0 rounds the scores and requires a width that is a multiple of 32. All calls
  /// must have the same width and type. The function may modify `vectors`.
  void add_blocks(Queue& queue, const SpanTokens& spans, View<float> vectors, DType type);
  /// Adds a single span with vectors [count, width] to the current block. The index must be on the
  /// host.
  void add_span(View<const float> vectors, int64_t width, DType type);
  /// Ends the current block. The next span begins a new block.
  void end_block();

  int64_t blocks() const { return blocks_; }
  int64_t vectors() const;  ///< returns the number of vectors; works only on the host
  size_t bytes() const;     ///< returns the bytes of the vectors
  /// Returns whether vectors of the type may be added.
  bool takes(DType type) const;

  /// Writes the score of every block to scores [blocks()]. A span's value for a query is the sum,
  /// or the maximum, of the dot products of the query and its vectors. The score of a block is the
  /// largest value over its spans and over the queries.
  void scores(Queue& queue, const VectorList& queries, SpanSimilarity rule, SpanSearch& memory,
              View<float> scores);
  /// Computes scores() for vectors that are divided over ranks. The index and the queries hold this
  /// rank's part of the elements of each vector. Dot products are summed over the ranks before the
  /// maximum is formed.
  void scores_of_ranks(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                       SpanSearch& memory, View<float> scores);

  /// Saves or restores the index. Throws UserError if the file is invalid.
  void archive(Archive& archive, int64_t width);

 private:
  /// A group of blocks. The dot products of their vectors and all queries stay in the caches until
  /// the scores are computed.
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
  /// In Q4_0: the first vector, which is subtracted from all vectors. Without this, the part that
  /// all keys have in common would use most of the 4-bit range.
  std::vector<float> common_;
  std::vector<Group> groups_;  ///< kGroupBlocks blocks each; the last group may have fewer
  SpanSlots slots_;            ///< all blocks, if they are on a device
};

}  // namespace longhaul
