#pragma once
// Model holds the weights by role. Matrices are views of the mapped file. Vectors are copied as
// f32.

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
  /// [hidden], for the inputs of attention and of the feed-forward part.
  std::vector<float> attention_norm, ffn_norm;
  /// [hidden], for the outputs of attention and of the feed-forward part.
  std::vector<float> attention_after_norm, ffn_after_norm;
  /// q is [heads * head_dim, hidden], and k and v have the rows of the KV heads. If attention has
  /// an output gate, q has twice the rows: for each head its query, followed by its gate. A layer
  /// that uses the keys and values of another layer has neither k nor v. A layer whose values are
  /// its keys has no v.
  TensorView q, k, v;
  std::vector<float> q_bias, k_bias, v_bias;
  std::vector<float> q_norm, k_norm;  ///< [head_dim], or for all heads together (QkNorm)
  /// [head_dim], product of the weights of norms that follow the rotation;
  /// ModelShape::query_weights refers to it.
  std::vector<float> query_weight;
  std::vector<float> sinks;        ///< sink logits, [heads]; ModelShape::sinks refers to them
  TensorView output;               ///< [hidden, heads * head_dim]
  std::vector<float> output_bias;  ///< [hidden]
  /// The feed-forward network that all rows use: the only one, or the shared expert.
  TensorView gate, up;     ///< [ffn, hidden]
  TensorView down;         ///< [hidden, ffn]
  TensorView shared_gate;  ///< [1, hidden], gate of the shared expert
  // Weights of a gated delta net, which replaces attention. `output` is then [hidden, values].
  /// Queries, keys and values [channels, hidden]; may also contain delta_z, interleaved.
  TensorView delta_in;
  TensorView delta_z;              ///< output gate [values, hidden]; without data: in delta_in
  TensorView delta_b;              ///< [value_heads, hidden]; may also contain delta_a, interleaved
  TensorView delta_a;              ///< [value_heads, hidden]; without data: in delta_b
  std::vector<float> convolution;  ///< [kernel, channels]
  std::vector<float> dt_bias, rate;  ///< [value_heads]
  std::vector<float> delta_norm;     ///< [value_dim]
  // Weights of a Mamba-2 layer or of a gated short convolution, with the convolution and vectors
  // above (`channels` is that of the shape, [heads] instead of [value_heads]).
  TensorView recurrent_in;              ///< [projected, hidden], or [3 * width, hidden]
  TensorView recurrent_output;          ///< [hidden, recurrent_width()]
  std::vector<float> convolution_bias;  ///< [channels]
  std::vector<float> skip;              ///< [heads]
  std::vector<float> recurrent_norm;    ///< [inner]
  Xielu xielu;                          ///< parameters of the activation, if the network uses xIELU
  TensorView router;                    ///< [experts, hidden]
  std::vector<float> router_bias;       ///< [experts]
  std::vector<float> choice_bias;       ///< [experts], bias of the scores (ExpertRule)
  std::vector<ExpertWeights> experts;
  // The next members are empty unless the experts and the shared expert have norms of their own
  // (ModelConfig::experts_apart). They are these norms, the factors of the router's input
  // (router_norm), and the factors of the experts' weights.
  /// [hidden] each.
  std::vector<float> network_after_norm, experts_norm, experts_after_norm, router_norm;
  std::vector<float> expert_scales;  ///< [experts]
  // Weights of multi-head latent attention. If queries have a latent vector, `q` multiplies it.
  TensorView q_down;                             ///< [query_rank, hidden]
  TensorView kv_down;                            ///< [rank + rope, hidden]
  std::vector<float> q_down_norm, kv_down_norm;  ///< [query_rank], [rank]
  TensorView k_up;  ///< [heads * rank, plain]: maps queries to the space of latent vectors
  TensorView v_up;  ///< [rows, rank]; the rows of head h begin at row v_first + h * v_stride
  int v_first = 0, v_stride = 0;  ///< first row of head 0, and distance between heads in rows
  // The embedding that the layer adds (ModelConfig::layer_input).
  TensorView input_gate;          ///< [layer_input, hidden]
  TensorView input_output;        ///< [hidden, layer_input]
  std::vector<float> input_norm;  ///< [hidden], norm of the added value
  float scale = 1;                ///< factor of the layer's output

  /// Returns whether the layer has a feed-forward network that all rows use.
  bool has_network() const { return down.data != nullptr; }
};

/// The norms of a layer, which are applied to the inputs and outputs of attention and of the
/// feed-forward part.
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

/// Low-rank adapters of a layer's matrices. The member of a matrix without an adapter is empty.
struct LayerAdapters {
  LowRank q, k, v, output, gate, up, down;
  LowRank delta_in, delta_z, delta_b, delta_a;
  LowRank recurrent_in, recurrent_output;
};

/// Rows of a stored matrix that an adapter has replaced.
struct ReplacedRows {
  TensorView before, after;
};

struct Model {
  ModelConfig config;
  ModelShape shape;
  TensorView embedding;  ///< [vocab, hidden]
  TensorView head;  ///< [vocab, hidden]; the same tensor as the embedding if the model ties the two
  std::vector<float> final_norm;
  // Per-layer embeddings (ModelConfig::layer_input): the table by token [vocab, layers *
  // layer_input], the projection of the embedded tokens [layers * layer_input, hidden], and the
  // norm of the projection [layer_input].
  TensorView layer_embedding, layer_projection;
  std::vector<float> layer_projection_norm;
  std::vector<LayerWeights> layers;
  std::vector<LayerAdapters> adapters;  ///< per layer; empty: no adapters
  LowRank head_adapter;
  std::vector<ReplacedRows> replaced;
  bool replaced_biases = false;  ///< whether an adapter has replaced biases
  /// Memory of adapter factors that are not used as stored.
  std::vector<Buffer<std::byte>> adapter_memory;
  std::vector<Buffer<std::byte>> turned;  ///< memory of matrices that are not used as stored
};

/// Loads a model. It refers to `checkpoint`, which must outlive it. Throws UserError that names the
/// file and the tensor if a tensor is missing, or has a wrong shape or an unsupported type. Also
/// throws if the file has a tensor that is not used, because the decoder's arithmetic would then
/// differ from that of the model.
Model load_model(const Checkpoint& checkpoint);

}  // namespace longhaul
