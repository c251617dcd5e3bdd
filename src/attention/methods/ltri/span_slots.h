#pragma once
// The index of a layer's blocks on a device (attention/methods/ltri/span_index.h is the index on
// the host). A block is divided into spans of tokens, and each span has some vectors
// (span_vectors.h). Each block has equal capacity, and the used part is known only on the device.
// The host can therefore add blocks and start searches without waiting for the number of vectors.

#include "attention/methods/ltri/span_vectors.h"
#include "ops/blocks/key_vectors.h"

namespace longhaul {

enum class SpanSimilarity : uint8_t { kSum, kMax };

/// The index in the form that operations receive.
struct SlottedSpans {
  int64_t blocks = 0, width = 0;
  View<const int32_t> records;  ///< [blocks, record], in the format of SpanTokens
  int64_t record = 0;
  View<const uint8_t> vectors;  ///< [blocks, slots, width] of `type`
  DType type = DType::BF16;
  int64_t slots = 0;
  View<const float> common;  ///< [width], subtracted from all vectors; empty: none
};

/// Writes the score of every block, as defined by SpanIndex::scores(), to `scores`.
inline const DeviceOperation<bool(const SlottedSpans&, const VectorList& queries, SpanSimilarity,
                                  View<float> scores)>
    kSpanScores;
/// The two parts of kSpanScores, for vectors that are divided over ranks. kSpanProducts writes the
/// products [blocks, rows, queries.most()] of every row and query. kBestProducts writes the scores,
/// which are maxima of the products.
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

  /// Adds the blocks of `tokens` with their vectors [blocks, tokens.most(), width]. All calls must
  /// have the same limits of spans and tokens. The function may modify `vectors`.
  void append(Queue& queue, const SpanTokens& tokens, View<float> vectors, DType type);
  SlottedSpans view() const;

  /// The whole index in host memory, as on_host() returns it.
  struct OnHost {
    std::vector<int32_t> records;
    std::vector<uint8_t> vectors;
    std::vector<float> common;
  };
  OnHost on_host() const;
  /// Sets the contents to a result of on_host().
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
