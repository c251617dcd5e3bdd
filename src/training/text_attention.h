#pragma once
// Attention of a whole text in one call, with what its gradient needs.

#include "base/buffer.h"
#include "ops/attention.h"
#include "ops/attention_backward.h"

namespace longhaul {

/// Queries [tokens, heads, head_dim], keys and values [tokens, kv_heads, head_dim]; f32, queries
/// and keys rotated.
struct AttentionRows {
  const float *q = nullptr, *k = nullptr, *v = nullptr;
};

class TextAttend {
 public:
  explicit TextAttend(AttendCompute compute) : compute_(compute) {}

  /// out [tokens, heads, head_dim], lse [tokens, heads].
  void forward(const TextAttention& shape, const AttentionRows& rows, float* out, float* lse);

 private:
  void store(const TextAttention& shape, const AttentionRows& rows);

  AttendCompute compute_;
  Buffer<float> pages_;  // of each KV head in turn, as ops/attention.h reads them
  std::vector<const std::byte*> addresses_;
};

}  // namespace longhaul
