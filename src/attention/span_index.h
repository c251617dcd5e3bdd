#pragma once
// The index of one layer's blocks: every block is a list of spans, every span a list of vectors
// (Ltri-LLM, arXiv:2412.04757, 3.3 and 3.4).

#include <cstdint>
#include <span>
#include <vector>

#include "attention/key_vectors.h"

namespace longhaul {

class ByteReader;
class ByteWriter;

enum class SpanSimilarity : uint8_t { kSum, kMax };

class SpanIndex {
 public:
  /// A block is added span by span; vectors are [count, width], kept as `type` (KeyVectors; Q4_0
  /// rounds scores, and its width is a multiple of 32). Width and type never change.
  void add_span(std::span<const float> vectors, int64_t width, DType type);
  void end_block();

  int64_t blocks() const { return blocks_; }
  int64_t vectors() const;
  size_t bytes() const;  ///< of the vectors
  /// Whether vectors of the type may be added.
  bool takes(DType type) const;

  /// Score of every block: the largest over its spans and over the queries ([count, width]) of the
  /// sum, or the largest, of <query, vector> over the span's vectors.
  std::vector<float> scores(std::span<const float> queries, int64_t width,
                            SpanSimilarity rule) const;

  void save(ByteWriter& out) const;
  /// Throws UserError when the file makes no sense.
  void restore(ByteReader& in, int64_t width);

 private:
  /// Blocks whose products with all queries stay in the caches until their scores are known.
  struct Group {
    KeyVectors vectors;               ///< [vectors, width]
    std::vector<int32_t> span_ends;   ///< per span: vectors up to its end
    std::vector<int32_t> block_ends;  ///< per block: spans up to its end

    int64_t count() const { return span_ends.empty() ? 0 : span_ends.back(); }
    void add(std::span<const float> common, float* dots) const;
    void raise(const float* dots, int64_t queries, SpanSimilarity rule, float* scores) const;
  };
  Group& open_group();
  std::vector<float> common_products(std::span<const float> queries) const;
  void score_few(std::span<const float> queries, int64_t count, SpanSimilarity rule,
                 float* scores) const;
  void score_many(std::span<const float> queries, int64_t count, SpanSimilarity rule,
                  float* scores) const;

  int64_t blocks_ = 0;
  /// Of Q4_0: the first vector, which all are kept less of. What keys have in common would take
  /// most of the range.
  std::vector<float> common_;
  std::vector<Group> groups_;  ///< of kGroupBlocks blocks, the last one of fewer
};

}  // namespace longhaul
