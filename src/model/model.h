#pragma once
// Model holds a model's configuration and its weights, with one member for each role. Matrices are
// views of the memory-mapped file. Vectors are copied as f32.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/tensor_view.h"
#include "model/config.h"
#include "ops/matmul/experts.h"
#include "ops/matmul/low_rank.h"

namespace longhaul {

class Checkpoint;

/// The weights of a layer. A vector is empty, and a matrix has no data, if the model does not have
/// the weight.
struct LayerWeights {
  /// [hidden]: weights of the norms before attention and before the feed-forward part.
  std::vector<float> attention_norm, ffn_norm;
  /// [hidden]: weights of the norms after attention and after the feed-forward part.
  std::vector<float> attention_after_norm, ffn_after_norm;
  /// q is [heads * head_dim, hidden], and k and v are [kv_heads * head_dim, hidden]. If the output
  /// of attention is gated, q has twice as many rows: for each head the rows of its query, followed
  /// by the rows of its gate. A layer that uses the keys and values of another layer has neither k
  /// nor v. A layer whose keys are also its values has no v.
  TensorView q, k, v;
  std::vector<float> q_bias, k_bias, v_bias;
  std::vector<float> q_norm, k_norm;  ///< [head_dim], or for all heads together (QkNorm)
  /// [head_dim]: if norms follow RoPE, the product of the norm weights of queries and keys, by
  /// which queries are multiplied. ModelShape::query_weights refers to it.
  std::vector<float> query_weight;
  std::vector<float> sinks;        ///< sink logits, [heads]; ModelShape::sinks refers to them
  TensorView output;               ///< [hidden, heads * head_dim]
  std::vector<float> output_bias;  ///< [hidden]
  /// The feed-forward network that all rows use: the only network of the layer, or the shared
  /// expert.
  TensorView gate, up;     ///< [ffn, hidden]
  TensorView down;         ///< [hidden, ffn]
  TensorView shared_gate;  ///< [1, hidden]: computes the gate of the shared expert
  // Weights of a gated delta net (DeltaShape), which replaces attention. `output` is then [hidden,
  // values].
  /// [channels, hidden]: computes queries, keys and values. May also contain the rows of delta_z,
  /// interleaved.
  TensorView delta_in;
  TensorView delta_z;              ///< [values, hidden]: output gate; no data if it is in delta_in
  TensorView delta_b;              ///< [value_heads, hidden]; may contain delta_a, interleaved
  TensorView delta_a;              ///< [value_heads, hidden]; no data if it is in delta_b
  std::vector<float> convolution;  ///< [kernel, channels]
  std::vector<float> dt_bias, rate;  ///< [value_heads]
  std::vector<float> delta_norm;     ///< [value_dim]
  // Weights of a Mamba-2 part (SsmShape) or of a gated short convolution (GatedConvolutionShape).
  // `convolution`, `dt_bias` and `rate` above are used too, with the sizes of these shapes.
  TensorView recurrent_in;              ///< [projected, hidden], or [3 * width, hidden]
  TensorView recurrent_output;          ///< [hidden, recurrent_width()]
  std::vector<float> convolution_bias;  ///< [channels]
  std::vector<float> skip;              ///< [heads]
  std::vector<float> recurrent_norm;    ///< [inner]
  Xielu xielu;                          ///< parameters of the activation if it is xIELU
  TensorView router;                    ///< [experts, hidden]
  std::vector<float> router_bias;       ///< [experts]
  std::vector<float> choice_bias;       ///< [experts]: bias of the scores (ExpertRule)
  std::vector<ExpertWeights> experts;
  // The next members are used if the experts and the shared expert have norms of their own
  // (ModelConfig::experts_apart).
  /// [hidden] each. network_after_norm is for the shared expert's output, experts_norm for the
  /// input of the experts, and experts_after_norm for their output. router_norm contains factors of
  /// the router's input.
  std::vector<float> network_after_norm, experts_norm, experts_after_norm, router_norm;
  std::vector<float> expert_scales;  ///< [experts]
  // Weights of multi-head latent attention (LatentShape). If queries are computed from a latent
  // vector, q_down computes this vector and `q` the queries.
  TensorView q_down;                             ///< [query_rank, hidden]
  TensorView kv_down;                            ///< [rank + rope, hidden]
  std::vector<float> q_down_norm, kv_down_norm;  ///< [query_rank], [rank]
  TensorView k_up;  ///< [heads * rank, plain]: transposed key matrices, for absorbed queries
  TensorView v_up;  ///< [rows, rank]; the rows of head h begin at row v_first + h * v_stride
  int v_first = 0, v_stride = 0;  ///< rows of v_up: first row of head 0, and distance between heads
  // Weights of the per-layer embedding that the layer adds (ModelConfig::layer_input).
  TensorView input_gate;          ///< [layer_input, hidden]
  TensorView input_output;        ///< [hidden, layer_input]
  std::vector<float> input_norm;  ///< [hidden]: norm of the rows that are added
  float scale = 1;                ///< factor of the layer's output

  /// Returns whether the layer has a feed-forward network that all rows use.
  bool has_network() const { return down.data != nullptr; }
};

/// The norms of a layer: before and after attention, and before and after the feed-forward part.
enum class RowNorm : uint8_t { kAttention, kAttentionAfter, kFfn, kFfnAfter };
inline constexpr RowNorm kRowNorms[] = {RowNorm::kAttention, RowNorm::kAttentionAfter,
                                        RowNorm::kFfn, RowNorm::kFfnAfter};

/// Returns the weight of the norm. The result is empty if the model does not have this norm.
inline const std::vector<float>& norm_of(const LayerWeights& w, RowNorm norm) {
  const bool attention = norm <= RowNorm::kAttentionAfter;
  return norm == RowNorm::kAttention || norm == RowNorm::kFfn
             ? (attention ? w.attention_norm : w.ffn_norm)
             : (attention ? w.attention_after_norm : w.ffn_after_norm);
}

/// LoRA adapters of a layer's matrices. If a matrix has no adapter, its member is empty.
struct LayerAdapters {
  LowRank q, k, v, output, gate, up, down;
  LowRank delta_in, delta_z, delta_b, delta_a;
  LowRank recurrent_in, recurrent_output;
};

/// Rows of a stored matrix, and the rows by which an adapter has replaced them.
struct ReplacedRows {
  TensorView before, after;
};

struct Model {
  ModelConfig config;
  ModelShape shape;
  TensorView embedding;  ///< [vocab, hidden]
  /// [vocab, hidden]: matrix of the logits; may be the same tensor as the embedding.
  TensorView head;
  std::vector<float> final_norm;
  // Weights of per-layer embeddings (ModelConfig::layer_input): layer_embedding [vocab, layers *
  // layer_input], layer_projection of the token embeddings [layers * layer_input, hidden], and the
  // norm of the projected rows [layer_input].
  TensorView layer_embedding, layer_projection;
  std::vector<float> layer_projection_norm;
  std::vector<LayerWeights> layers;
  std::vector<LayerAdapters> adapters;  ///< per layer; empty: no adapters
  LowRank head_adapter;
  std::vector<ReplacedRows> replaced;
  bool replaced_biases = false;  ///< whether an adapter has replaced biases
  /// Memory of adapter matrices that cannot be used in their stored form.
  std::vector<Buffer<std::byte>> adapter_memory;
  /// Memory of weights that cannot be used in their stored form.
  std::vector<Buffer<std::byte>> turned;
};

/// Loads a model from `checkpoint`, which must outlive it. Throws a UserError that names the file
/// and the tensor if a tensor is missing, has a wrong shape, or has an unsupported type. Also
/// throws if the file has a tensor that is not used, because the model then has a part that the
/// decoder does not compute.
Model load_model(const Checkpoint& checkpoint);

}  // namespace longhaul
