#pragma once
// Implements the steps of a decoder (decoder_state.h) on a device. The residual stream is f32. Rows
// that are multiplied by matrices are converted to the format that the device reads fastest
// (DeviceInput).

#include <memory>

#include "model/decoder_state.h"
#include "model/device_model.h"

namespace longhaul {

struct Decoder::DeviceState final : Decoder::State {
  DeviceState(std::shared_ptr<const DeviceModel> weights, Compute compute);

  void embed(std::span<const int32_t> tokens) override;
  void normalise(int layer, RowNorm norm) override;
  void project(int layer, int kv_heads) override;
  void normalise_heads(int layer, int kv_heads) override;
  // Nothing to do: DeviceModel has already changed the order of the rows of Q and K.
  void split_pairs(int) override {}
  void grow_queries(View<float> queries, int64_t count, int64_t position,
                    const QueryGrowth& growth) override;
  void normalise_again() override;
  void feed_apart(int layer, const PartOutput& y) override;
  void end_layer(int layer) override;
  void move_layer_input(int layer, int64_t from, int64_t to) override;
  void gate_output() override;
  void project_recurrent(int layer) override;
  void mix_recurrent(int layer, std::span<const RecurrentTask> tasks) override;
  void project_back(int layer, bool recurrent, const PartOutput& y) override;
  void feed(int layer, const PartOutput& y) override;
  void mix_experts(int layer, const PartOutput& y) override;
  void add_sublayer(int layer, RowNorm norm, float scale) override;
  View<float> head(const float* hidden, int64_t count, float* out) override;

  std::shared_ptr<const DeviceModel> weights;

 private:
  /// A multiplication by one of several matrices that have the same input rows.
  struct Job {
    const DeviceWeight& weight;
    View<float> y;
    bool add = false;
    bool exact = false;  ///< value of DeviceLinear::exact
  };
  DeviceOps& ops() const { return queue.device().ops(); }
  void multiply(const DeviceInput& taken, int64_t count, std::initializer_list<Job> jobs);
  void begin_layer_inputs(std::span<const int32_t> tokens);
  void add_layer_input(int layer);
  void project_latent(int layer);
  View<const float> latent_values(int layer);
  void feed_ungated(int layer, const PartOutput& y);
  void route(int layer);
  void mix_routed(int layer, const DeviceInput& taken, const PartOutput& y);
  void project_gated(int layer, int kv_heads);
  void project_delta(int layer);
  void mix_delta(int layer, std::span<const RecurrentTask> tasks);
  void feed_gated(const DeviceLayer& w, const PartOutput& y);

  Array<float> gate, up;       ///< [rows, ffn]
  Array<float> routes;         ///< [rows, experts]
  Array<float> low;            ///< [rows, rank]: rows multiplied by an adapter's matrix A
  Array<float> output_gates;   ///< [rows, heads * head_dim]
  Array<float> shared, share;  ///< [rows, hidden] and [rows], for the shared expert
  // Projections of a gated delta net: delta_qkv is [rows, channels], delta_z is [rows, values], and
  // delta_b and delta_a are [rows, value_heads].
  Array<float> delta_qkv, delta_z, delta_b, delta_a;
  // For a Mamba-2 layer: [rows, inner + channels], [rows, heads]. For a gated short convolution:
  // [rows, 3 * width].
  Array<float> recurrent_rows, time_steps;
  Buffer<float> convolved;  ///< scratch memory of recurrent layers on the host
  bool keeps_normed(int layer, RowNorm norm) const;
  /// [rows, hidden]; normalised rows that are kept in f32.
  Array<float> normed;
  Array<float> weighed;  ///< [rows, hidden]: inputs of experts, times the experts' weights
  Array<float> apart;    ///< [rows, hidden]: output of experts that have norms of their own
  // For latent attention: queries [rows, heads, query], latent vectors of queries [rows,
  // query_rank], products with kv_down [rows, rank + rope], and values [rows, heads, value].
  Array<float> latent_queries, low_queries, latent_products, latent_outputs;
  // For per-layer embeddings (model/layer_inputs.h). layer_inputs [rows, layers, width] holds the
  // embeddings for all layers, and projected the projection of the token embeddings. layer_input
  // [rows, width] is the embedding for one layer, and input_gates holds its gates. input_added
  // [rows, hidden] are the rows that the layer adds to the residual stream.
  Array<float> layer_inputs, projected, layer_input, input_gates, input_added;
  /// Rows in the format for matrix multiplications. `input` is multiplied by a sublayer's input
  /// matrices or the matrix of the logits, `inner` by the matrix `down`, and `low_input` by an
  /// adapter's matrix B.
  std::unique_ptr<DeviceInput> input, inner, low_input;
};

}  // namespace longhaul
