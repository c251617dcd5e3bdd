#pragma once
// Attention of a whole text in one call, with what its gradient needs.

#include <optional>

#include "kv/kv_store.h"
#include "ops/attention_backward.h"

namespace longhaul {

/// Queries [tokens, heads, head_dim], keys and values [tokens, kv_heads, head_dim]; f32, queries
/// and keys rotated.
struct AttentionRows {
  View<const float> q, k, v;
};

class TextAttend {
 public:
  TextAttend(const Queue& queue, AttendCompute compute) : queue_(queue), compute_(compute) {}

  /// Keys and values that attend() reads from now on.
  void store(const TextAttention& shape, const AttentionRows& rows);
  /// out [tokens, heads, head_dim], lse [tokens, heads] of queries q, by the shape's rule of sight.
  void attend(const TextAttention& shape, View<const float> q, View<float> out, View<float> lse);

 private:
  Queue queue_;
  AttendCompute compute_;
  std::optional<KvStore> keys_;  // of one layer
};

}  // namespace longhaul
