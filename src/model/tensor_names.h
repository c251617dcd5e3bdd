#pragma once
// Provides the names of a model's tensors in the two file formats. Norms are not included, because
// their names differ between families (LayerNorms in families.h).

#include <fmt/format.h>

#include <string>

#include "format/checkpoint.h"

namespace longhaul {

/// Names by role, without .weight or .bias unless the comment says "whole name". The first `{}`
/// stands for the number of the layer, and a second `{}` for the number of the expert. Null: the
/// format does not have the tensor.
struct TensorNames {
  const char *embedding, *head, *final_norm;
  const char *layer;  ///< prefix of the names of a layer's tensors
  const char *q, *k, *v, *qkv, *output;
  const char *q_norm, *k_norm, *sinks;
  const char *gate, *up, *gate_up, *down;
  /// Shared expert, the network that all rows use in addition to their experts.
  const char *shared_gate, *shared_up, *shared_down;
  const char *shared_expert_gate;  ///< gate of the shared expert; whole name
  // Gated delta nets. A file contains queries, keys and values (qkv) and the output gate (z) as two
  // tensors, or all of them in one tensor, interleaved by key heads (qkvz). The same applies to the
  // update strengths (b) and decays (a).
  const char *delta_qkv, *delta_z, *delta_qkvz, *delta_b, *delta_a, *delta_ba;
  const char *delta_norm, *delta_output;
  const char *delta_convolution, *delta_dt_bias, *delta_rate;  ///< whole names
  // Mamba-2 layers and gated short convolutions. delta_dt_bias, delta_rate and delta_norm are also
  // theirs.
  const char *recurrent_in, *recurrent_output, *recurrent_convolution;
  const char *recurrent_skip;  ///< whole name
  const char *router;
  const char *choice_bias;                               ///< whole name
  const char *expert_gate, *expert_up, *expert_down;     ///< if there is one tensor per expert
  const char *experts_gate, *experts_up, *experts_down;  ///< if there is one tensor for all experts
  /// If there is one tensor for gate and up of all experts: that tensor, and the tensor for down.
  /// Whole names.
  const char *experts_gate_up, *experts_down_beside;
  // Names for models whose experts and shared expert have norms of their own (Gemma 4): the norm of
  // the shared expert's output, the norms of the experts' input and output, the factors of the
  // router's input, and the factors of the experts. The factors are whole names.
  const char *network_after_norm, *experts_norm, *experts_after_norm;
  const char *router_scale, *expert_scales;
  // Per-layer embeddings: the table by token and the projection of the embedded tokens with its
  // norm, for all layers; then for each layer the gate, the output matrix, the norm, and the factor
  // of the layer's output (whole name).
  const char *layer_embedding, *layer_projection, *layer_projection_norm;
  const char *input_gate, *input_output, *input_norm, *layer_scale;
  // Multi-head latent attention: the matrices and norms of the latent vectors of queries and keys,
  // and the matrices that are applied to these vectors. A file contains keys and values of all
  // heads in one matrix (kv_up), or in two (k_up, v_up); k_up is then stored transposed.
  const char *q_down, *q_down_norm, *q_up, *kv_down, *kv_down_norm, *kv_up, *k_up, *v_up;
};

const TensorNames &tensor_names(CheckpointFormat format);
/// Returns the names of a format, including names that are specific to one family.
TensorNames tensor_names(CheckpointFormat format, const std::string &architecture);

inline std::string of_layer(const char *name, int layer) {
  return fmt::format(fmt::runtime(name), layer);
}
inline std::string of_expert(const char *name, int layer, int expert) {
  return fmt::format(fmt::runtime(name), layer, expert);
}

}  // namespace longhaul
