#pragma once
// Weights by role. Matrices stay in the mapped file as stored; vectors are f32 copies.

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

/// Weights of a layer. Vectors are empty if the model lacks them.
struct LayerWeights {
  std::vector<float> attention_norm, ffn_norm;  ///< [hidden], for the inputs of sublayers
  std::vector<float> attention_after_norm, ffn_after_norm;  ///< [hidden], for their outputs
  /// [heads * head_dim, hidden], k and v with KV heads. With an output gate q has twice the rows:
  /// those of a head, then those of its gate.
  /// Without data: a layer that shares keys and values has neither k nor v, and one whose values
  /// are its keys has no v.
  TensorView q, k, v;
  std::vector<float> q_bias, k_bias, v_bias;
  std::vector<float> q_norm, k_norm;  ///< [head_dim], or for all heads (QkNorm)
  std::vector<float> sinks;           ///< [heads]; ModelShape::sinks points into it
  TensorView output;                  ///< [hidden, heads * head_dim]
  std::vector<float> output_bias;     ///< [hidden]
  /// The feed-forward network that all rows use, alone or beside experts. Without data, there is no
  /// such network.
  TensorView gate, up;     ///< [ffn, hidden]
  TensorView down;         ///< [hidden, ffn]
  TensorView shared_gate;  ///< [1, hidden], the gate of that network beside experts
  // A gated delta net in the place of attention; `output` is [hidden, values].
  TensorView delta_in;  ///< queries, keys and values [channels, hidden], or woven with the gate
  TensorView delta_z;   ///< [values, hidden]; without data: woven into delta_in
  TensorView delta_b;   ///< [value_heads, hidden], or woven with delta_a
  TensorView delta_a;   ///< [value_heads, hidden]; without data: woven into delta_b
  std::vector<float> convolution;    ///< [kernel, channels]
  std::vector<float> dt_bias, rate;  ///< [value_heads]
  std::vector<float> delta_norm;     ///< [value_dim]
  Xielu xielu;                       ///< numbers of the network's function, if it is this one
  TensorView router;                 ///< [experts, hidden]
  std::vector<float> router_bias;    ///< [experts]
  std::vector<float> choice_bias;    ///< [experts], of scores (ExpertRule)
  std::vector<ExpertWeights> experts;
  // Experts apart from the network (ModelConfig::experts_apart): norms, the factors of the router's
  // input and those of the experts' weights.
  std::vector<float> network_after_norm, experts_norm, experts_after_norm,
      router_norm;                   ///< [hidden]
  std::vector<float> expert_scales;  ///< [experts]
  // Latent attention. `q` reads the query's latent vector if there is one.
  TensorView q_down;                             ///< [query_rank, hidden]
  TensorView kv_down;                            ///< [rank + rope, hidden]
  std::vector<float> q_down_norm, kv_down_norm;  ///< [query_rank], [rank]
  TensorView k_up;                ///< [heads * rank, plain]: queries to the space of latent vectors
  TensorView v_up;                ///< rows of head h's values begin at v_first + h * v_stride
  int v_first = 0, v_stride = 0;  ///< rows of a matrix [rows, rank]
  // The embedding that the layer adds (ModelConfig::layer_input).
  TensorView input_gate;          ///< [layer_input, hidden]
  TensorView input_output;        ///< [hidden, layer_input]
  std::vector<float> input_norm;  ///< [hidden], of what is added
  float scale = 1;                ///< factor of the layer's output

  bool has_network() const { return down.data != nullptr; }
};

/// Norms of a layer: applied to the inputs and to the outputs of its sublayers.
enum class RowNorm : uint8_t { kAttention, kAttentionAfter, kFfn, kFfnAfter };
inline constexpr RowNorm kRowNorms[] = {RowNorm::kAttention, RowNorm::kAttentionAfter,
                                        RowNorm::kFfn, RowNorm::kFfnAfter};

/// The norm's weight; empty if the model does not have this norm.
inline const std::vector<float>& norm_of(const LayerWeights& w, RowNorm norm) {
  const bool attention = norm <= RowNorm::kAttentionAfter;
  return norm == RowNorm::kAttention || norm == RowNorm::kFfn
             ? (attention ? w.attention_norm : w.ffn_norm)
             : (attention ? w.attention_after_norm : w.ffn_after_norm);
}

/// Low-rank adapters of a layer's matrices; empty for matrices without one.
struct LayerAdapters {
  LowRank q, k, v, output, gate, up, down;
  LowRank delta_in, delta_z, delta_b, delta_a;
};

/// Rows of a stored matrix that an adapter has replaced.
struct ReplacedRows {
  TensorView before, after;
};

struct Model {
  ModelConfig config;
  ModelShape shape;
  TensorView embedding;  ///< [vocab, hidden]
  TensorView head;       ///< [vocab, hidden]; equals the embedding if tied
  std::vector<float> final_norm;
  // ModelConfig::layer_input: of tokens [vocab, layers * layer_input], from their first rows
  // [layers * layer_input, hidden], and the norm of these [layer_input].
  TensorView layer_embedding, layer_projection;
  std::vector<float> layer_projection_norm;
  std::vector<LayerWeights> layers;
  std::vector<LayerAdapters> adapters;  ///< per layer; empty: no adapters
  LowRank head_adapter;
  std::vector<ReplacedRows> replaced;
  bool replaced_biases = false;                   ///< an adapter has replaced some biases
  std::vector<Buffer<std::byte>> adapter_memory;  ///< for factors that are not used as stored
  std::vector<Buffer<std::byte>> turned;          ///< matrices that are not used as stored
};

/// Returns a model that refers to `checkpoint`, which must outlive it. Throws UserError with file
/// and tensor if a tensor is missing, has a wrong shape (found and expected) or an unsupported
/// type. It also throws if a tensor would not be used, because the decoder's arithmetic would then
/// differ from the model's.
Model load_model(const Checkpoint& checkpoint);

}  // namespace longhaul
