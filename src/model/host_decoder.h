#pragma once
// Implements the steps of a decoder (decoder_state.h) on the host.

#include <vector>

#include "base/buffer.h"
#include "model/decoder_state.h"
#include "model/delta_layer.h"
#include "model/latent_layer.h"
#include "model/layer_inputs.h"
#include "model/recurrent_layer.h"
#include "ops/matmul/experts.h"

namespace longhaul {

struct Decoder::HostState final : Decoder::State {
  HostState(const Model& m, Compute c) : State(m, c, {}) {}

  void embed(std::span<const int32_t> tokens) override;
  void normalise(int layer, RowNorm norm) override;
  void normalise_again() override;
  void project(int layer, int kv_heads) override;
  void normalise_heads(int layer, int kv_heads) override;
  void split_pairs(int kv_heads) override;
  const float* weigh_inputs();
  void grow_queries(View<float> queries, int64_t count, int64_t position,
                    const QueryGrowth& growth) override;
  void gate_output() override;
  void project_recurrent(int layer) override;
  void mix_recurrent(int layer, std::span<const RecurrentTask> tasks) override;
  void project_back(int layer, bool recurrent, const PartOutput& y) override;
  void feed(int layer, const PartOutput& y) override;
  void mix_experts(int layer, const PartOutput& y) override;
  void feed_apart(int layer, const PartOutput& y) override;
  void end_layer(int layer) override;
  void move_layer_input(int layer, int64_t from, int64_t to) override {
    inputs.move(layer, from, to);
  }
  void add_sublayer(int layer, RowNorm norm, float scale) override;
  View<float> head(const float* hidden, int64_t count, float* out) override;

 private:
  void normalise_rows(const float* x, const std::vector<float>& weight, int64_t count,
                      float* out) const;
  void choose_experts_of_rows(int layer);
  void feed_ungated(int layer, const PartOutput& y);
  /// Multiplies `inner` by the matrix `down` of the feed-forward network.
  void feed_down(int layer, const PartOutput& y);
  void feed_gated(const LayerWeights& w, const PartOutput& y, const LowRank* adapter);
  const LowRank* beside(int layer, LowRank LayerAdapters::*matrix) const;

  LinearInput input;                 // input rows of a sublayer
  LinearInput inner;                 // [rows, ffn]
  Buffer<float> normed, routes;      // [rows, hidden], [rows, experts]
  Buffer<float> product;             // [rows, ffn], for a network without a gate
  std::vector<ExpertChoice> chosen;  // [rows, experts_used]
  ExpertMix mix;
  Buffer<float> queries_and_gates, gates;  // [rows, heads, 2 * head_dim], [rows, heads * head_dim]
  Buffer<float> shared, share;             // [rows, hidden] and [rows], for the shared expert
  DeltaLayer delta;
  RecurrentLayer recurrent_layer;
  LayerInputs inputs;
  LatentLayer latent;
  std::vector<float> ones;  // [head_dim]
};

}  // namespace longhaul
