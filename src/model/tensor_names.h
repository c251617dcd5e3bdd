#pragma once
// Tensor names of a model's matrices in the two file formats. Norms differ between families: see
// LayerNorms (families.h).

#include <fmt/format.h>

#include <string>

#include "format/checkpoint.h"

namespace longhaul {

/// Names by role, without .weight or .bias. The first `{}` stands for the layer number, a second
/// `{}` for the expert number.
struct TensorNames {
  const char *embedding, *head, *final_norm;
  const char *layer;  ///< prefix of the names of a layer's tensors
  const char *q, *k, *v, *qkv, *output;
  const char *q_norm, *k_norm, *sinks;
  const char *gate, *up, *gate_up, *down;
  const char *shared_gate, *shared_up,
      *shared_down;                ///< network that all rows use beside the experts
  const char *shared_expert_gate;  ///< gate of that network; the whole name
  // Gated delta nets. Files hold either queries, keys and values apart from the output's gate, or
  // all of them woven by key heads; the same holds for the shares (b) and decays (a) of new values.
  const char *delta_qkv, *delta_z, *delta_qkvz, *delta_b, *delta_a, *delta_ba;
  const char *delta_norm, *delta_output;
  const char *delta_convolution, *delta_dt_bias, *delta_rate;  ///< whole names
  const char *router;
  const char *choice_bias;                               ///< the whole name
  const char *expert_gate, *expert_up, *expert_down;     ///< one tensor per expert
  const char *experts_gate, *experts_up, *experts_down;  ///< one tensor for all experts
  /// One tensor for gate and up of all experts, and one for down beside it; whole names.
  const char *experts_gate_up, *experts_down_beside;
  // Experts apart from the network of all rows (Gemma 4): norms of the network's output and of the
  // experts' input and output; factors of the router's input and of experts (whole names).
  const char *network_after_norm, *experts_norm, *experts_after_norm;
  const char *router_scale, *expert_scales;
  // Embeddings that each layer adds: of tokens and from the first rows, for all layers; the layer's
  // gate, output matrix, norm and the factor of its output (whole name).
  const char *layer_embedding, *layer_projection, *layer_projection_norm;
  const char *input_gate, *input_output, *input_norm, *layer_scale;
  // Latent attention: queries' and keys' latent vectors, their norms, and the matrices from them.
  // Files hold either one matrix of keys and values for all heads or one for each, turned for
  // queries.
  const char *q_down, *q_down_norm, *q_up, *kv_down, *kv_down_norm, *kv_up, *k_up, *v_up;
};

const TensorNames &tensor_names(CheckpointFormat format);
/// Returns the names, including names specific to one family.
TensorNames tensor_names(CheckpointFormat format, const std::string &architecture);

inline std::string of_layer(const char *name, int layer) {
  return fmt::format(fmt::runtime(name), layer);
}
inline std::string of_expert(const char *name, int layer, int expert) {
  return fmt::format(fmt::runtime(name), layer, expert);
}

}  // namespace longhaul
