#pragma once
// TextAttend computes attention over a whole text in one call, and also returns the softmax
// denominators, which the computation of gradients needs.

#include <optional>

#include "kv/kv_store.h"
#include "ops/grad/attention_backward.h"

namespace longhaul {

/// The inputs of attention in f32: queries [tokens, heads, head_dim], keys and values [tokens,
/// kv_heads, head_dim]. Queries and keys have already been rotated by RoPE.
struct AttentionRows {
  View<const float> q, k, v;
};

class TextAttend {
 public:
  TextAttend(const Queue& queue, AttendCompute compute) : queue_(queue), compute_(compute) {}

  /// Stores the keys and values of one layer for the following calls of attend().
  void store(const TextAttention& shape, const AttentionRows& rows);
  /// Computes the outputs of attention for the queries `q`: `out` [tokens, heads, head_dim], and
  /// `lse` [tokens, heads], the logs of the softmax denominators. `shape` determines to which keys
  /// a token attends.
  void attend(const TextAttention& shape, View<const float> q, View<float> out, View<float> lse);

 private:
  Queue queue_;
  AttendCompute compute_;
  std::optional<KvStore> keys_;  // stored keys and values of one layer
};

}  // namespace longhaul
