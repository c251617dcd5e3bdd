#pragma once
// Attention over a whole text in one call, with the values that its gradient needs.

#include <optional>

#include "kv/kv_store.h"
#include "ops/grad/attention_backward.h"

namespace longhaul {

/// Queries [tokens, heads, head_dim], keys and values [tokens, kv_heads, head_dim]; f32, queries
/// and keys rotated.
struct AttentionRows {
  View<const float> q, k, v;
};

class TextAttend {
 public:
  TextAttend(const Queue& queue, AttendCompute compute) : queue_(queue), compute_(compute) {}

  /// Stores keys and values for later calls of attend().
  void store(const TextAttention& shape, const AttentionRows& rows);
  /// Computes out [tokens, heads, head_dim] and lse [tokens, heads] for queries q, with the shape's
  /// visibility.
  void attend(const TextAttention& shape, View<const float> q, View<float> out, View<float> lse);

 private:
  Queue queue_;
  AttendCompute compute_;
  std::optional<KvStore> keys_;  // keys of one layer
};

}  // namespace longhaul
