#pragma once
// Weights by role. Matrices stay in the mapped file as stored; vectors are f32 copies.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/tensor_view.h"
#include "model/config.h"
#include "ops/low_rank.h"

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

/// What adapters add to a layer's matrices; those without one are empty.
struct LayerAdapters {
  LowRank q, k, v, output, gate, up, down;
};

struct Model {
  ModelConfig config;
  ModelShape shape;
  TensorView embedding;  ///< [vocab, hidden]
  TensorView head;       ///< [vocab, hidden]; the embedding when tied
  std::vector<float> final_norm;
  std::vector<LayerWeights> layers;
  std::vector<LayerAdapters> adapters;  ///< per layer; empty: the model has none
  LowRank head_adapter;
  std::vector<Buffer<std::byte>>
      adapter_memory;  ///< of factors that no file holds as they are used
};

/// Views into `checkpoint`, which must outlive the model. Throws UserError naming file and tensor:
/// missing, wrong shape (found and expected), unsupported type, or there without a use: what is
/// done would not be that model's arithmetic.
Model load_model(const Checkpoint& checkpoint);

}  // namespace longhaul
