#pragma once
// Provides the names of a model's tensors in GGUF files and in Hugging Face folders. The norms of
// layers are not included, because their names differ between families (LayerNorms in families.h).

#include <fmt/format.h>

#include <string>

#include "format/checkpoint.h"

namespace longhaul {

/// One name per role. The ending .weight or .bias is omitted, unless a comment says "whole name".
/// The first `{}` stands for the number of the layer, and a second `{}` for the number of the
/// expert. A null pointer means that the format does not have the tensor.
struct TensorNames {
  const char *embedding, *head, *final_norm;
  const char *layer;  ///< prefix of the names of a layer's tensors
  const char *q, *k, *v, *qkv, *output;
  const char *q_norm, *k_norm, *sinks;
  const char *gate, *up, *gate_up, *down;
  /// Matrices of the shared expert, which all rows use in addition to the experts selected for
  /// them.
  const char *shared_gate, *shared_up, *shared_down;
  const char *shared_expert_gate;  ///< matrix of the shared expert's gate; whole name
  // Gated delta nets. The matrices of queries, keys and values (qkv) and of the output gate (z) are
  // two tensors, or one tensor with rows interleaved by key heads (qkvz). In the same way, the
  // matrices of update strengths (b) and decays (a) are two tensors or one (ba).
  const char *delta_qkv, *delta_z, *delta_qkvz, *delta_b, *delta_a, *delta_ba;
  const char *delta_norm, *delta_output;
  const char *delta_convolution, *delta_dt_bias, *delta_rate;  ///< whole names
  // Mamba-2 parts and gated short convolutions. They also use delta_dt_bias, delta_rate and
  // delta_norm.
  const char *recurrent_in, *recurrent_output, *recurrent_convolution;
  const char *recurrent_skip;  ///< whole name
  const char *router;
  const char *choice_bias;                            ///< whole name
  const char *expert_gate, *expert_up, *expert_down;  ///< for files with one tensor per expert
  /// For files with one tensor for all experts.
  const char *experts_gate, *experts_up, *experts_down;
  /// For files with one tensor for gate and up of all experts: this tensor, and the tensor for
  /// down. Whole names.
  const char *experts_gate_up, *experts_down_beside;
  // For models whose experts and shared expert have norms of their own (Gemma 4): norms of the
  // shared expert's output, of the experts' input and of their output. router_scale and
  // expert_scales (whole names) are the factors of the router's input and of the experts' weights.
  const char *network_after_norm, *experts_norm, *experts_after_norm;
  const char *router_scale, *expert_scales;
  // Per-layer embeddings (model/layer_inputs.h). For all layers together: the embedding table, the
  // projection of token embeddings, and the norm of projected rows. For each layer: the gate, the
  // output matrix, the norm, and the factor of the layer's output (whole name).
  const char *layer_embedding, *layer_projection, *layer_projection_norm;
  const char *input_gate, *input_output, *input_norm, *layer_scale;
  // Multi-head latent attention. The `down` matrices compute the latent vectors, which are then
  // normalised. The `up` matrices compute queries, keys and values from them. Key and value
  // matrices of all heads are one tensor (kv_up) or two (k_up, v_up). k_up is stored transposed.
  const char *q_down, *q_down_norm, *q_up, *kv_down, *kv_down_norm, *kv_up, *k_up, *v_up;
};

const TensorNames &tensor_names(CheckpointFormat format);
/// Returns the names of a format, including those that only the family `architecture` has.
TensorNames tensor_names(CheckpointFormat format, const std::string &architecture);

inline std::string of_layer(const char *name, int layer) {
  return fmt::format(fmt::runtime(name), layer);
}
inline std::string of_expert(const char *name, int layer, int expert) {
  return fmt::format(fmt::runtime(name), layer, expert);
}

}  // namespace longhaul
