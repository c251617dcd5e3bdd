#pragma once
// The index of a layer's blocks on a device (ops/blocks/span_index.h is the host's form). Each
// block has the same capacity, and only kernels read how much of it is used. The host can therefore
// add and look up blocks without the number of their vectors.

#include "ops/blocks/key_vectors.h"
#include "ops/blocks/span_vectors.h"

namespace longhaul {

enum class SpanSimilarity : uint8_t { kSum, kMax };

/// The arguments of kernels.
struct SlottedSpans {
  int64_t blocks = 0, width = 0;
  View<const int32_t> records;  ///< [blocks, record], in the format of SpanTokens
  int64_t record = 0;
  View<const uint8_t> vectors;  ///< [blocks, slots, width] of `type`
  DType type = DType::BF16;
  int64_t slots = 0;
  View<const float> common;  ///< [width], subtracted from all vectors; empty: nothing
};

/// Writes the score of every block (SpanIndex::scores()) to `scores`.
inline const DeviceOperation<bool(const SlottedSpans&, const VectorList& queries, SpanSimilarity,
                                  View<float> scores)>
    kSpanScores;
/// The two parts of kSpanScores for vectors that are divided over ranks, with products [blocks,
/// rows, queries.most()]: the products of every row and query, and their maxima.
inline const DeviceOperation<bool(const SlottedSpans&, const VectorList& queries, SpanSimilarity,
                                  View<float> products)>
    kSpanProducts;
inline const DeviceOperation<bool(const SlottedSpans&, const VectorList& queries, SpanSimilarity,
                                  View<const float> products, View<float> scores)>
    kBestProducts;
/// Subtracts the row from each of `rows` [n, row.size()].
inline const DeviceOperation<bool(View<const float> row, View<float> rows)> kSubtractRow;

class SpanSlots {
 public:
  int64_t blocks() const { return record_ == 0 ? 0 : records_.size() / record_; }
  size_t bytes() const { return vectors_.bytes() + records_.bytes(); }
  bool takes(DType type) const { return vectors_.takes(type); }

  /// Adds the blocks of `tokens`, whose limits must not change between calls, with their vectors
  /// [blocks, tokens.most(), width], which it may modify.
  void append(Queue& queue, const SpanTokens& tokens, View<float> vectors, DType type);
  SlottedSpans view() const;

  /// Returns all blocks in host memory, for access one by one.
  struct OnHost {
    std::vector<int32_t> records;
    std::vector<uint8_t> vectors;
    std::vector<float> common;
  };
  OnHost on_host() const;
  /// Sets the contents from a result of on_host().
  void set(Queue& queue, const OnHost& from, int64_t record, int64_t slots, int64_t width,
           DType type);

 private:
  Queue queue_;
  int64_t record_ = 0, slots_ = 0, width_ = 0;
  RollingArray<int32_t> records_;
  KeyVectors vectors_;
  RollingArray<float> common_;
};

}  // namespace longhaul
