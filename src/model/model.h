#pragma once
// Weights by role. Matrices stay in the mapped file as stored; vectors are f32 copies.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/tensor_view.h"
#include "model/config.h"

namespace longhaul {

class Checkpoint;

struct LayerWeights {
  std::vector<float> attention_norm, ffn_norm;  ///< [hidden]
  TensorView q, k, v;                           ///< [heads * head_dim, hidden], ...
  std::vector<float> q_bias, k_bias, v_bias;    ///< empty when the model has none
  std::vector<float> q_norm, k_norm;            ///< [head_dim], empty when the model has none
  TensorView output;                            ///< [hidden, heads * head_dim]
  TensorView gate, up;                          ///< [ffn, hidden]
  TensorView down;                              ///< [hidden, ffn]
};

struct Model {
  ModelConfig config;
  ModelShape shape;
  TensorView embedding;  ///< [vocab, hidden]
  TensorView head;       ///< [vocab, hidden]; the embedding when tied
  std::vector<float> final_norm;
  std::vector<LayerWeights> layers;
};

/// Views into `checkpoint`, which must outlive the model. Throws UserError naming file and tensor:
/// missing, wrong shape (found and expected), unsupported type, or there without a use: what is
/// done would not be that model's arithmetic.
Model load_model(const Checkpoint& checkpoint);

}  // namespace longhaul
