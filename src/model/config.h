#pragma once
// A decoder's shape as data, read from either kind of metadata. Families differ in values, not in
// subclasses.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/model_shape.h"
#include "base/nth.h"
#include "model/families.h"
#include "model/rope_spec.h"
#include "ops/attention/query_growth.h"
#include "ops/core/ungated.h"
#include "ops/delta/delta_shape.h"
#include "ops/matmul/expert_choice.h"

namespace longhaul {

class Checkpoint;

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1). All query heads share
/// one key and value per row: the first `rope` numbers, which rotate, and the latent vector.
struct LatentShape {
  int rank = 0;        ///< width of the latent vector; 0: the model has ordinary attention
  int query_rank = 0;  ///< width of a query's latent vector; 0: queries have none
  int rope = 0;        ///< numbers of a head that rotate
  int plain = 0;       ///< other numbers of a query head
  int value = 0;       ///< numbers of a head's value
  float eps = 1e-6f;   ///< epsilon of the norms of latent vectors
  bool used() const { return rank > 0; }
  int query() const { return rope + plain; }
};

struct ModelConfig {
  std::string architecture;  ///< the name in the file
  int layers = 0;
  int hidden = 0;
  int ffn = 0;         ///< width of each expert, if there are experts
  int dense_ffn = 0;   ///< width of the first dense_layers, which have no experts
  int shared_ffn = 0;  ///< width of the network for all rows beside the experts; 0: none
  int vocab = 0;
  int heads = 0;
  std::vector<int> kv_heads;    ///< per layer
  int head_dim = 0;             ///< largest of all layers
  std::vector<int> head_dims;   ///< per layer; empty: head_dim in all layers
  std::vector<int> dense_ffns;  ///< per layer: width of the network of all rows; empty: one width
  std::vector<uint8_t> key_values;  ///< per layer: 1 if its values are its keys; empty: none
  /// Per layer: the layer whose keys and values it uses, usually itself; empty: all use their own.
  std::vector<int> kv_layer;
  int layer_input = 0;  ///< width of the embedding that each layer adds; 0: none
  float norm_eps = 1e-5f;
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer; 0: none
  RopeSpec rope;
  RopeSpec other_rope;                    ///< for layers with other angles
  std::vector<uint8_t> other_angles;      ///< per layer: 1 if it uses other_rope; empty: none does
  std::vector<std::string> rope_tensors;  ///< tensors of the checkpoint whose factors are in `rope`
  std::vector<uint8_t> recurrent;         ///< per layer: 1 if it is a delta net; empty: none is
  DeltaShape delta;                       ///< sizes of these layers
  LatentShape latent;
  bool qkv_bias = false;          ///< q, k and v have biases, which are required
  bool own_head = false;          ///< the output matrix is required: it is not the embedding
  bool interleaved_rope = false;  ///< Q and K rows pair (2t, 2t+1): GGUF's llama

  // Most families leave the following settings at these values.
  LayerNorms norms;                  ///< which norms have weights in the file
  QkNorm qk_norm = QkNorm::kNone;    ///< norms of queries and keys
  bool norm_offset = false;          ///< weights of norms are stored minus 1
  Gating gating;                     ///< activation of the feed-forward part
  Ungated ungated = Ungated::kNone;  ///< if the feed-forward part has no gate
  bool mean_norms = false;           ///< norms subtract the mean (LayerNorm)
  bool parallel = false;             ///< attention and network read the same normalised rows
  bool biases = false;               ///< output matrix, router and experts have biases
  bool fused_gate_up = false;        ///< gate and up may be one matrix
  bool output_gate = false;          ///< Q has rows of a gate for the output of attention
  bool shared_gate = false;          ///< a gate for the network beside the experts
  bool value_norm = false;           ///< values of a head are normalised, without a weight
  bool layer_scales = false;         ///< each layer scales its output
  bool experts_apart = false;  ///< experts and the network beside them have norms of their own
  bool sinks = false;          ///< a logit per head in the softmax's denominator
  float embedding_scale = 1;   ///< factor of the embedding
  float residual_scale = 1;    ///< factor of each sublayer's output
  float attention_scale = 0;   ///< factor of q . k; 0: 1 / sqrt(head_dim)
  /// Queries at position p are multiplied by 1 + this * ln(1 + floor(p / rope.original_context)). 0
  /// leaves them unchanged.
  float temperature_scale = 0;
  float logit_scale = 1;        ///< factor of the output matrix's products
  float attention_cap = 0;      ///< soft cap c tanh(x / c) of attention logits; 0: none
  float logit_cap = 0;          ///< soft cap of the model's logits; 0: none
  int experts = 0;              ///< number of expert networks; 0: one network for all rows
  int experts_used = 0;         ///< number of experts that each row uses
  int dense_layers = 0;         ///< number of first layers without experts
  int left_out_layers = 0;      ///< layers after the last one, which predict further tokens
  bool norm_topk_prob = true;   ///< the weights of a row's experts are normalised to sum 1
  bool expert_sigmoid = false;  ///< scores are sigmoids
  bool choice_bias = false;     ///< a bias is added to the scores for the selection
  float expert_scale = 1;       ///< factor of the weights
  int expert_groups = 1;        ///< groups of experts, of equal size
  int groups_used = 1;          ///< groups whose experts a row may use
  bool best_of_group = false;   ///< a group counts by its best expert, else by its two best

  /// Width of the widest network of a layer.
  int widest_ffn() const {
    const int own =
        dense_ffns.empty() ? 0 : *std::max_element(dense_ffns.begin(), dense_ffns.end());
    return std::max({ffn, dense_ffn, shared_ffn, own});
  }
  /// Width of a layer's network of all rows, if it is no shared expert.
  int ffn_of(int layer) const {
    if (!dense_ffns.empty()) return nth(dense_ffns, layer);
    return experts > 0 ? dense_ffn : ffn;
  }
  int dim_of(int layer) const { return head_dims.empty() ? head_dim : nth(head_dims, layer); }
  bool shares_kv(int layer) const { return !kv_layer.empty() && nth(kv_layer, layer) != layer; }
  /// Whether later layers use the layer's keys and values.
  bool lends_kv(int layer) const {
    return !kv_layer.empty() && std::count(kv_layer.begin(), kv_layer.end(), layer) > 1;
  }

  /// The rule that selects a row's experts. `bias` and `scales` are in the memory where the
  /// selection runs; null: none.
  ExpertRule expert_rule(const float* bias, const float* scales) const {
    return {norm_topk_prob, expert_sigmoid, bias,          expert_scale,
            expert_groups,  groups_used,    best_of_group, scales};
  }

  bool is_recurrent(int layer) const { return !recurrent.empty() && nth(recurrent, layer) != 0; }
  int recurrent_layers() const {
    return static_cast<int>(std::count(recurrent.begin(), recurrent.end(), 1));
  }
  /// The number of layers of the same kind (recurrent or attention) before this one. Methods and
  /// stores count attention layers only (ModelShape).
  int number_in_kind(int layer) const {
    if (recurrent.empty()) return layer;
    const auto end = recurrent.begin() + layer;
    return static_cast<int>(std::count(recurrent.begin(), end, *end));
  }

  QueryGrowth query_growth() const { return {rope.original_context, temperature_scale}; }

  /// Names the operations that llama, qwen and phi3 do not have; empty if there are none. Gradients
  /// (training/) support only the operations of those families and refuse other models with this
  /// name.
  std::string beyond_plain() const;

  /// Returns the shape of the layers with attention, with the angles of a context of `length`
  /// tokens.
  ModelShape shape(int64_t length = 0) const;
};

/// Throws UserError naming the file and the key: unknown architecture, missing key, a value out of
/// range, a scaling or an activation that is not supported.
ModelConfig read_config(const Checkpoint& checkpoint);

// For the readers of the two kinds of metadata.

/// Sets the values of the family.
ModelConfig config_of(const Family& family, CheckpointFormat format);
/// Per layer: 1, but 0 in every `every`-th layer.
std::vector<uint8_t> recurrent_but_every(int every, int layers);
/// Per layer: `width`, but 0 in every `every`-th layer (0: in none).
std::vector<int64_t> windows_but_every(int every, int64_t width, int layers);
/// Sets other_rope and other_angles; rope and windows must be set. `window_base`: the file's own
/// RoPE base of layers with a window. `window_width`: whether the file names a width.
void set_layers_that_differ(const Family& family, std::optional<double> window_base,
                            bool window_width, ModelConfig& c);

ModelConfig read_gguf_config(const Checkpoint& checkpoint);
ModelConfig read_hf_config(const Checkpoint& checkpoint);

}  // namespace longhaul
