#pragma once
// SpanSlots stores an index of blocks of tokens in device memory, for SpanIndex
// (attention/methods/ltri/span_index.h). Each block has some spans of tokens, and each span has
// some vectors (span_vectors.h). In this form every block has room for the largest number of
// vectors (slots), and the number of used slots is only in device memory. The host can therefore
// add blocks and start searches without waiting for the device.

#include "attention/methods/ltri/span_vectors.h"
#include "ops/blocks/key_vectors.h"

namespace longhaul {

enum class SpanSimilarity : uint8_t { kSum, kMax };

/// Description of the index for operations.
struct SlottedSpans {
  int64_t blocks = 0, width = 0;
  View<const int32_t> records;  ///< [blocks, record]: records of SpanTokens
  int64_t record = 0;
  View<const uint8_t> vectors;  ///< [blocks, slots, width] of `type`
  DType type = DType::BF16;
  int64_t slots = 0;
  View<const float> common;  ///< [width]: was subtracted from all vectors; empty: nothing was
};

/// Writes the score of every block to `scores`, as SpanIndex::scores() defines it.
inline const DeviceOperation<bool(const SlottedSpans&, const VectorList& queries, SpanSimilarity,
                                  View<float> scores)>
    kSpanScores;
/// The two parts of kSpanScores, for vectors whose elements are divided over several devices.
/// kSpanProducts writes products [blocks, rows, queries.most()], one for each row of a block and
/// each query. With kMax, a row is a vector of the block, and the product is a dot product. With
/// kSum, a row is a span of the block, and the product is the sum of the dot products of its
/// vectors. kBestProducts writes the score of every block, which is the maximum of the block's
/// products.
inline const DeviceOperation<bool(const SlottedSpans&, const VectorList& queries, SpanSimilarity,
                                  View<float> products)>
    kSpanProducts;
inline const DeviceOperation<bool(const SlottedSpans&, const VectorList& queries, SpanSimilarity,
                                  View<const float> products, View<float> scores)>
    kBestProducts;
/// Subtracts `row` from each row of `rows` [n, row.size()].
inline const DeviceOperation<bool(View<const float> row, View<float> rows)> kSubtractRow;

class SpanSlots {
 public:
  int64_t blocks() const { return record_ == 0 ? 0 : records_.size() / record_; }
  size_t bytes() const { return vectors_.bytes() + records_.bytes(); }
  bool takes(DType type) const { return vectors_.takes(type); }

  /// Adds the blocks of `tokens` with their vectors [blocks, tokens.most(), width], stored as
  /// `type`. tokens.spans() and tokens.most() must be equal in all calls. The function may modify
  /// `vectors`.
  void append(Queue& queue, const SpanTokens& tokens, View<float> vectors, DType type);
  SlottedSpans view() const;

  /// A copy of the whole index in host memory.
  struct OnHost {
    std::vector<int32_t> records;
    std::vector<uint8_t> vectors;
    std::vector<float> common;
  };
  OnHost on_host() const;
  /// Sets the contents of the index to a result of on_host().
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
