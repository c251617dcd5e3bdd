#pragma once
// A decoder's shape as data, read from either kind of metadata. Families differ in values, not in
// subclasses.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/model_shape.h"
#include "model/families.h"
#include "model/rope_spec.h"
#include "ops/attention/query_growth.h"
#include "ops/matmul/expert_choice.h"

namespace longhaul {

class Checkpoint;

struct ModelConfig {
  std::string architecture;  ///< as the file calls it
  int layers = 0;
  int hidden = 0;
  int ffn = 0;         ///< of each expert, where there are any
  int dense_ffn = 0;   ///< of the first dense_layers, which have no experts
  int shared_ffn = 0;  ///< of a network for all rows beside the experts; 0: none
  int vocab = 0;
  int heads = 0;
  std::vector<int> kv_heads;  ///< per layer
  int head_dim = 0;
  float norm_eps = 1e-5f;
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer; 0: none
  RopeSpec rope;
  RopeSpec other_rope;                    ///< of layers with other angles
  std::vector<uint8_t> other_angles;      ///< per layer: 1 where other_rope holds; empty: nowhere
  std::vector<std::string> rope_tensors;  ///< of the checkpoint, whose factors `rope` holds
  bool qkv_bias = false;                  ///< q, k and v have biases, which must be there
  bool own_head = false;          ///< the output matrix must be there: the embedding is not it
  bool interleaved_rope = false;  ///< Q and K rows pair (2t, 2t+1): GGUF's llama

  // What most families leave as it is here.
  LayerNorms norms;                ///< which of them have weights in the file
  QkNorm qk_norm = QkNorm::kNone;  ///< of queries and keys
  bool norm_offset = false;        ///< norms' weights are stored minus 1
  Gating gating;                   ///< of the feed-forward part
  bool biases = false;             ///< of output matrix, router and experts
  bool fused_gate_up = false;      ///< gate and up may be one matrix
  bool sinks = false;              ///< a logit per head in the softmax's denominator
  float embedding_scale = 1;       ///< times the embedding
  float residual_scale = 1;        ///< times what a layer's parts add to the stream
  float attention_scale = 0;       ///< times q . k; 0: 1 / sqrt(head_dim)
  /// Queries at position p times 1 + this * ln(1 + floor(p / rope.original_context)); 0: as they
  /// are.
  float temperature_scale = 0;
  float logit_scale = 1;        ///< times the output matrix's products
  float attention_cap = 0;      ///< c tanh(x / c) of attention's logits; 0: none
  float logit_cap = 0;          ///< the same of the model's logits
  int experts = 0;              ///< networks of the feed-forward part; 0: one for all rows
  int experts_used = 0;         ///< of them by each row
  int dense_layers = 0;         ///< the first layers without experts
  int left_out_layers = 0;      ///< behind the last one: they predict further tokens
  bool norm_topk_prob = true;   ///< their weights add up to 1
  bool expert_sigmoid = false;  ///< scores are sigmoids, and a bias is added to them for the choice
  float expert_scale = 1;       ///< times the weights

  /// The widest network of a layer.
  int widest_ffn() const { return std::max({ffn, dense_ffn, shared_ffn}); }

  /// How a row's experts are chosen; `choice_bias` lies where the choice is made, null: none.
  ExpertRule expert_rule(const float* choice_bias) const {
    return {norm_topk_prob, expert_sigmoid, choice_bias, expert_scale};
  }

  QueryGrowth query_growth() const { return {rope.original_context, temperature_scale}; }

  /// Names what goes beyond the arithmetic of llama, qwen and phi3; empty where nothing does.
  /// Gradients (training/) know no more than that, and refuse a model by it.
  std::string beyond_plain() const;

  /// With the angles of a context of `length` tokens.
  ModelShape shape(int64_t length = 0) const;
};

/// Throws UserError naming the file and the key: unknown architecture, missing key, a value out of
/// range, a scaling or an activation that is not supported.
ModelConfig read_config(const Checkpoint& checkpoint);

// For the readers of the two kinds of metadata.

/// What the family says.
ModelConfig config_of(const Family& family, CheckpointFormat format);
/// Per layer: `width`, but 0 in every `every`-th layer (0: in none).
std::vector<int64_t> windows_but_every(int every, int64_t width, int layers);
/// other_rope and other_angles, once rope and windows are there. `window_base`: the file's own RoPE
/// base of layers with a window. `window_width`: the file names one.
void set_layers_that_differ(const Family& family, std::optional<double> window_base,
                            bool window_width, ModelConfig& c);

ModelConfig read_gguf_config(const Checkpoint& checkpoint);
ModelConfig read_hf_config(const Checkpoint& checkpoint);

}  // namespace longhaul
