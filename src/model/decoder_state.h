#pragma once
// What a decoder works with. Its arithmetic is virtual: the host's is here (decoder.cc), a device's
// in device_decoder.h.

#include <span>
#include <vector>

#include "base/buffer.h"
#include "model/decoder.h"
#include "ops/experts.h"

namespace longhaul {

/// Queries, keys and values of a pass before rotation, and where attention goes.
struct Projected {
  View<const float> q, k, v;  ///< [rows, heads, head_dim], [rows, kv_heads, head_dim] twice
  View<float> out;            ///< [rows, heads, head_dim]
};

struct Decoder::State {
  State(const Model& m, Compute c) : model(m), compute(c), shape(m.shape) {}
  virtual ~State() = default;

  virtual void embed(std::span<const int32_t> tokens);
  /// Normalises the residual stream and projects it.
  virtual Projected projected(int layer, int kv_heads);
  /// Projects what attention wrote, and adds it to the residual stream.
  virtual void add_attention(int layer);
  virtual void feed_forward(int layer);
  virtual const float* hidden() const { return x.data(); }
  virtual void logits(const float* hidden, int64_t rows, float* out);

  void attention(int layer, const ForwardPass& pass, AttentionDriver& method);
  void project(int layer, int kv_heads);
  void experts(const LayerWeights& w);
  void scale_queries();
  void norm_heads(const LayerWeights& w, int kv_heads);
  void add_to_stream(LinearInput& part, LinearJob job, const std::vector<float>& after_norm);
  void add_sublayer(const std::vector<float>& after_norm);
  const LowRank* beside(int layer, LowRank LayerAdapters::*matrix) const;
  void normalise(const std::vector<float>& weight);

  const Model& model;
  Compute compute;
  ModelShape shape;
  Queue queue;
  LayerStep::Workspace workspace;
  int64_t rows = 0;
  int64_t position = 0;          // of the first of them
  Buffer<float> x;               // [rows, hidden] the residual stream
  Buffer<float> q, k, v, mixed;  // [rows, heads * head_dim], ...
  LinearInput input;             // of a sublayer
  LinearInput inner;             // [rows, ffn]
  Buffer<float> sublayer;        // [rows, hidden] what it writes, where that is not simply added
  Buffer<float> normed, routes;  // [rows, hidden], [rows, experts]
  std::vector<ExpertChoice> chosen;  // [rows, experts_used]
  ExpertMix mix;
};

}  // namespace longhaul
