#pragma once
// Weights by role. Matrices stay in the mapped file as stored; vectors are f32 copies.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/tensor_view.h"
#include "model/config.h"
#include "ops/experts.h"
#include "ops/low_rank.h"

namespace longhaul {

class Checkpoint;

/// Vectors are empty where the model has none.
struct LayerWeights {
  std::vector<float> attention_norm, ffn_norm;              ///< [hidden], of what the parts read
  std::vector<float> attention_after_norm, ffn_after_norm;  ///< [hidden], of what they write
  TensorView q, k, v;                                       ///< [heads * head_dim, hidden], ...
  std::vector<float> q_bias, k_bias, v_bias;
  std::vector<float> q_norm, k_norm;  ///< [head_dim], or of all heads (QkNorm)
  std::vector<float> sinks;           ///< [heads], which ModelShape::sinks looks into
  TensorView output;                  ///< [hidden, heads * head_dim]
  std::vector<float> output_bias;     ///< [hidden]
  TensorView gate, up;                ///< [ffn, hidden]; without experts
  TensorView down;                    ///< [hidden, ffn]
  TensorView router;                  ///< [experts, hidden]
  std::vector<float> router_bias;     ///< [experts]
  std::vector<ExpertWeights> experts;
};

/// Norms of a layer's rows: of what its parts read, and of what they write.
enum class RowNorm : uint8_t { kAttention, kAttentionAfter, kFfn, kFfnAfter };
inline constexpr RowNorm kRowNorms[] = {RowNorm::kAttention, RowNorm::kAttentionAfter,
                                        RowNorm::kFfn, RowNorm::kFfnAfter};

/// Its weight; empty: the model has none there.
inline const std::vector<float>& norm_of(const LayerWeights& w, RowNorm norm) {
  const bool attention = norm <= RowNorm::kAttentionAfter;
  return norm == RowNorm::kAttention || norm == RowNorm::kFfn
             ? (attention ? w.attention_norm : w.ffn_norm)
             : (attention ? w.attention_after_norm : w.ffn_after_norm);
}

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

/// Views into `checkpoint`, which must outlive the model. Throws UserError naming file and tensor
/// where one is missing, has a wrong shape (found and expected) or an unsupported type, and where
/// the file has one that the decoder would not use: its arithmetic would not be that model's.
Model load_model(const Checkpoint& checkpoint);

}  // namespace longhaul
