#pragma once
// SpanIndex is the index of the blocks of old tokens in one layer (Ltri-LLM, arXiv:2412.04757,
// sections 3.3 and 3.4). For each block, the index holds spans (ranges of tokens), and for each
// span some vectors: the keys of the tokens that represent it. A search computes a score for every
// block from query vectors.

#include <cstdint>
#include <vector>

#include "attention/methods/ltri/span_slots.h"
#include "ops/blocks/key_vectors.h"
#include "ops/matmul/linear.h"

namespace longhaul {

/// One vector per span: the mean of the keys of the tokens that represent the span. The memory is
/// reused between calls.
struct SpanMeans {
  SpanTokens tokens;  ///< the first of the span's tokens, for each span
  Array<float> keys;  ///< [blocks, spans, width]: the means; zeros after the last span
};

/// Computes the mean of the keys of each span. `keys` is the result of gather_span_keys() for
/// `tokens`.
void mean_of_spans(Queue& queue, const SpanTokens& tokens, View<const float> keys,
                   SpanMeans& means);
/// Writes SpanMeans::tokens to `one` and SpanMeans::keys to `means`, which must already be
/// allocated.
inline const DeviceOperation<bool(const SpanTokens&, View<const float> keys, SpanTokens& one,
                                  View<float> means)>
    kMeanOfSpans;

/// Buffers of a search, which are reused between calls.
struct SpanSearch {
  Array<float> dots;          ///< dot products of all vectors and queries
  Array<float> products;      ///< for scores_of_ranks(): dot products, or their sums per span
  std::vector<float> common;  ///< dot products of the queries and common_
  std::vector<MatvecJob> jobs;
  ActivationRows decode;
  LinearInput many;
};

class SpanIndex {
 public:
  /// `spans` is the largest number of spans per block. `most` is the largest number of vectors per
  /// span.
  SpanIndex(int spans, int most) : spans_(spans), most_(most) {}

  /// Adds blocks. `spans` describes their spans, and `vectors` holds the vectors of these spans in
  /// the layout of gather_span_keys(). They are stored as `type` (KeyVectors). With Q4_0, scores
  /// are approximate, and the width must be a multiple of 32. All calls must have the same width
  /// and type. The function may modify `vectors`.
  void add_blocks(Queue& queue, const SpanTokens& spans, View<float> vectors, DType type);
  /// Adds one span with the vectors [count, width] to the current block. The index must be on the
  /// host.
  void add_span(View<const float> vectors, int64_t width, DType type);
  /// Ends the current block. The next span begins a new block.
  void end_block();

  int64_t blocks() const { return blocks_; }
  int64_t vectors() const;  ///< returns the number of vectors; only for an index on the host
  size_t bytes() const;     ///< returns the size of the vectors in bytes
  /// Returns whether vectors of the type may be added.
  bool takes(DType type) const;

  /// Writes the score of every block to scores [blocks()]. The score of a span for a query is the
  /// sum (kSum) or the maximum (kMax) of the dot products of the query and the span's vectors. The
  /// score of a block is the maximum over its spans and over all queries.
  void scores(Queue& queue, const VectorList& queries, SpanSimilarity rule, SpanSearch& memory,
              View<float> scores);
  /// Computes scores() if several devices (ranks) share the model. The index and the queries then
  /// hold only the elements of each vector that belong to the heads of this rank. Dot products are
  /// summed over the ranks before any maximum is computed.
  void scores_of_ranks(Queue& queue, const VectorList& queries, SpanSimilarity rule,
                       SpanSearch& memory, View<float> scores);

  /// Saves the index to a session file or restores it from one. Throws UserError if the file is
  /// invalid.
  void archive(Archive& archive, int64_t width);

 private:
  /// A group of blocks whose scores are computed together. It is so small that the dot products of
  /// its vectors and all queries fit in the CPU's caches.
  struct Group {
    KeyVectors vectors;               ///< [vectors, width]
    std::vector<int32_t> span_ends;   ///< per span: number of vectors in this and all earlier spans
    std::vector<int32_t> block_ends;  ///< per block: number of spans in this and all earlier blocks

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
  /// With Q4_0: a copy of the first vector. Keys have a large part in common, which would use most
  /// of the 4-bit range. Before rounding, common_ is therefore subtracted from each vector.
  std::vector<float> common_;
  std::vector<Group> groups_;  ///< an index on the host: groups of kGroupBlocks blocks
  SpanSlots slots_;            ///< an index on a device: all blocks
};

}  // namespace longhaul
