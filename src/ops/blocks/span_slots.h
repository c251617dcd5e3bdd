#pragma once
// The index of a layer's blocks on a device (ops/blocks/span_index.h is its form on the host): each
// block has the same room, and only kernels know how much of it is used. So the host adds blocks
// and looks them up without knowing how many vectors they have.

#include "ops/blocks/key_vectors.h"
#include "ops/blocks/span_vectors.h"

namespace longhaul {

enum class SpanSimilarity : uint8_t { kSum, kMax };

/// What a kernel reads.
struct SlottedSpans {
  int64_t blocks = 0, width = 0;
  View<const int32_t> records;  ///< [blocks, record], as SpanTokens has them
  int64_t record = 0;
  View<const uint8_t> vectors;  ///< [blocks, slots, width] of `type`
  DType type = DType::BF16;
  int64_t slots = 0;
  View<const float> common;  ///< [width] that all vectors are kept less of; empty: nothing
};

class SpanSlots {
 public:
  int64_t blocks() const { return record_ == 0 ? 0 : records_.size() / record_; }
  size_t bytes() const { return vectors_.bytes() + records_.bytes(); }
  bool takes(DType type) const { return vectors_.takes(type); }

  /// Adds the blocks of `tokens`, whose limits are always the same, by their vectors [blocks,
  /// tokens.most(), width], which it may change.
  void append(Queue& queue, const SpanTokens& tokens, View<float> vectors, DType type);
  SlottedSpans view() const;

  /// All blocks in host memory, to be looked at one by one.
  struct OnHost {
    std::vector<int32_t> records;
    std::vector<uint8_t> vectors;
    std::vector<float> common;
  };
  OnHost on_host() const;
  /// Becomes what on_host() gave.
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
