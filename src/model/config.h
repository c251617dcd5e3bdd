#pragma once
// ModelConfig describes the arithmetic of a model as data. It is read from the metadata of a GGUF
// file or of a Hugging Face folder. Model families differ only in these values and not in code.

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
#include "ops/ssm/recurrent_shapes.h"

namespace longhaul {

class Checkpoint;

/// Sizes of multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1). All query
/// heads share one key and value per token. The key consists of `rope` elements that RoPE rotates,
/// followed by the latent vector.
struct LatentShape {
  int rank = 0;  ///< width of the latent vector of a token; 0: the model has ordinary attention
  int query_rank = 0;  ///< width of the latent vector from which queries are computed; 0: none
  int rope = 0;        ///< number of elements of a head that RoPE rotates
  int plain = 0;       ///< number of elements of a query head that RoPE does not rotate
  int value = 0;       ///< number of elements of a head's value
  float eps = 1e-6f;   ///< epsilon of the norms of latent vectors
  bool used() const { return rank > 0; }
  int query() const { return rope + plain; }
};

/// The kind of a layer's feed-forward part.
enum class FeedKind : uint8_t {
  kNone,
  kNetwork,  ///< one feed-forward network, which all rows use
  kExperts
};

struct ModelConfig {
  std::string architecture;  ///< name of the model family in the file
  int layers = 0;
  int hidden = 0;  ///< width of the residual stream
  int ffn = 0;  ///< width of the feed-forward network, or of each expert if the model has experts
  /// Width of the feed-forward network in the first dense_layers layers, which have no experts.
  int dense_ffn = 0;
  /// Width of the shared expert, which all rows use in addition to the experts selected for them;
  /// 0: none.
  int shared_ffn = 0;
  int vocab = 0;
  int heads = 0;
  std::vector<int> kv_heads;   ///< per layer: number of KV heads
  int head_dim = 0;            ///< largest of all layers
  std::vector<int> head_dims;  ///< per layer; if empty, all layers have head_dim
  /// Per layer: width of the feed-forward network that all rows use. If empty, dense_ffn or ffn
  /// apply (ffn_of()).
  std::vector<int> dense_ffns;
  /// Per layer: 1 if the layer's keys are also its values; empty: no layer.
  std::vector<uint8_t> key_values;
  /// Per layer: index of the layer whose keys and values this layer uses, usually its own. If the
  /// vector is empty, all layers use their own keys and values.
  std::vector<int> kv_layer;
  int layer_input = 0;  ///< width of per-layer embeddings (model/layer_inputs.h); 0: none
  float norm_eps = 1e-5f;
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer: sliding window in tokens; 0: none
  bool chunked = false;         ///< whether `window` holds lengths of chunks (ModelShape::chunked)
  RopeSpec rope;
  RopeSpec other_rope;  ///< RoPE of the layers that other_angles selects
  /// Per layer: 1 if the layer uses other_rope; empty: no layer.
  std::vector<uint8_t> other_angles;
  /// Tensors of the checkpoint whose RoPE factors are included in `rope`.
  std::vector<std::string> rope_tensors;
  /// Per layer: 1 if the layer has a recurrent part; empty: no layer has one.
  std::vector<uint8_t> recurrent;
  /// Per layer: 1 if the layer has attention. If empty, exactly the layers without a recurrent part
  /// have it.
  std::vector<uint8_t> attentive;
  /// Per layer: kind of the feed-forward part. If empty, has_experts() determines the kind.
  std::vector<FeedKind> feeds;
  // Sizes of the recurrent parts. All recurrent layers of a model are of one kind, and the shapes
  // of the other kinds are empty.
  DeltaShape delta;                   ///< gated delta nets
  SsmShape ssm;                       ///< Mamba-2 layers
  GatedConvolutionShape convolution;  ///< gated short convolutions
  LatentShape latent;
  bool qkv_bias = false;  ///< whether q, k and v have biases; all three are then required
  /// Whether the file must contain the matrix that computes the logits. If false and the file does
  /// not contain it, the embedding matrix is used.
  bool own_head = false;
  /// Whether RoPE rotates rows 2t and 2t + 1 of a head of Q and K as a pair (GGUF files of llama).
  /// Otherwise, the rows of a pair are half the rotary width apart.
  bool interleaved_rope = false;

  // Most families have the following default values.
  LayerNorms norms;  ///< tensor names of the layers' norms; null: layers lack the norm
  QkNorm qk_norm = QkNorm::kNone;  ///< norms of queries and keys
  /// Whether norms of queries and keys have no weights and are applied only in layers with RoPE.
  bool plain_qk_norm = false;
  bool norm_offset = false;  ///< whether stored norm weights are 1 smaller than those to apply
  Gating gating;             ///< activation of a gated feed-forward network
  Ungated ungated = Ungated::kNone;  ///< activation of a feed-forward network without a gate
  bool mean_norms = false;           ///< whether norms subtract the mean (LayerNorm)
  /// Whether attention and the feed-forward network of a layer have the same input.
  bool parallel = false;
  /// Whether attention's output matrix, the router and the experts have biases.
  bool biases = false;
  bool fused_gate_up = false;  ///< whether the file may store the gate and up matrices as one
  /// Whether the matrix Q also contains rows that compute gates for the output of attention.
  bool output_gate = false;
  bool shared_gate = false;   ///< whether the shared expert has a gate
  bool value_norm = false;    ///< whether each head's value is normalised, without a weight
  bool layer_scales = false;  ///< whether each layer multiplies its output by a stored factor
  /// Whether the experts and the shared expert each have norms for their input and output.
  bool experts_apart = false;
  /// Whether each query head has a sink logit, whose exponential is added to the softmax
  /// denominator.
  bool sinks = false;
  float embedding_scale = 1;  ///< factor of the token embeddings
  float residual_scale = 1;   ///< factor of the output of attention and of the feed-forward part
  // Further factors of the outputs of attention, of recurrent parts and of feed-forward parts.
  float attention_out_scale = 1, recurrent_out_scale = 1, ffn_out_scale = 1;
  float attention_scale = 0;  ///< factor of the dot product of query and key; 0: 1 / sqrt(head_dim)
  /// Queries at position p are multiplied by 1 + temperature_scale * ln(1 + floor(p /
  /// rope.original_context)). If temperature_scale is 0, queries are unchanged.
  float temperature_scale = 0;
  /// Growth of the queries of layers without RoPE. The query at position p is multiplied by the
  /// factor that QueryGrowth defines for position p + 1. With rate 0, these queries are unchanged.
  QueryGrowth still_growth = {};
  float logit_scale = 1;    ///< factor of the model's output logits
  float attention_cap = 0;  ///< soft cap c tanh(x / c) of attention logits; 0: none
  float logit_cap = 0;      ///< soft cap of the model's output logits; 0: none
  int experts = 0;          ///< number of experts per layer; 0: there are no experts
  int experts_used = 0;     ///< number of experts that are selected for each row
  int dense_layers = 0;     ///< number of first layers without experts
  /// Number of layers in the file after the model's last layer. They predict several tokens ahead
  /// (multi-token prediction) and are not used.
  int left_out_layers = 0;
  int expert_step = 1;  ///< only every expert_step-th layer may have experts
  /// Whether an expert's weight multiplies its input instead of its output.
  bool weighs_inputs = false;
  /// Form of the stored expert matrices in Hugging Face folders.
  ExpertOrder expert_order = ExpertOrder::kRows;
  bool norm_topk_prob = true;   ///< whether the weights of a row's experts are normalised to sum 1
  bool expert_sigmoid = false;  ///< whether the scores of experts are sigmoids
  bool choice_bias = false;     ///< whether a stored bias is added to the scores for the selection
  float expert_scale = 1;       ///< factor of the experts' weights
  int expert_groups = 1;  ///< number of groups of equal size into which the experts are divided
  int groups_used = 1;    ///< number of groups from which experts of a row may be selected
  /// Whether the score of a group is the score of its best expert. Otherwise it is the sum of its
  /// two best scores.
  bool best_of_group = false;

  /// Returns whether the layer has experts.
  bool has_experts(int layer) const {
    return experts > 0 && layer >= dense_layers && (layer + 1) % expert_step == 0;
  }

  /// Returns the width of the widest feed-forward network of any layer.
  int widest_ffn() const {
    const int own =
        dense_ffns.empty() ? 0 : *std::max_element(dense_ffns.begin(), dense_ffns.end());
    return std::max({ffn, dense_ffn, shared_ffn, own});
  }
  /// Returns the width of the feed-forward network that all rows of a layer use. A shared expert is
  /// not included.
  int ffn_of(int layer) const {
    if (!dense_ffns.empty()) return nth(dense_ffns, layer);
    return experts > 0 ? dense_ffn : ffn;
  }
  int dim_of(int layer) const { return head_dims.empty() ? head_dim : nth(head_dims, layer); }
  /// Returns whether the layer uses the keys and values of another (earlier) layer.
  bool shares_kv(int layer) const { return !kv_layer.empty() && nth(kv_layer, layer) != layer; }
  /// Returns whether later layers use the keys and values of this layer.
  bool lends_kv(int layer) const {
    return !kv_layer.empty() && std::count(kv_layer.begin(), kv_layer.end(), layer) > 1;
  }

  /// Returns the rule that selects the experts of a row. `bias` [experts] is added to the scores,
  /// and `scales` [experts] are factors of the weights. They must be in the memory where the
  /// selection runs, or null if there are none.
  ExpertRule expert_rule(const float* bias, const float* scales) const {
    return {norm_topk_prob, expert_sigmoid, bias,          expert_scale,
            expert_groups,  groups_used,    best_of_group, scales};
  }

  bool is_recurrent(int layer) const { return !recurrent.empty() && nth(recurrent, layer) != 0; }
  bool has_attention(int layer) const {
    return attentive.empty() ? !is_recurrent(layer) : nth(attentive, layer) != 0;
  }
  /// Returns whether the layer has both attention and a recurrent part, which then have the same
  /// input.
  bool has_both(int layer) const { return is_recurrent(layer) && has_attention(layer); }
  FeedKind feed_of(int layer) const {
    if (!feeds.empty()) return nth(feeds, layer);
    return has_experts(layer) ? FeedKind::kExperts : FeedKind::kNetwork;
  }
  int recurrent_layers() const { return recurrent_before(layers); }
  int attention_layers() const { return attention_before(layers); }
  /// Return the number of layers before `layer` with a recurrent part or with attention. Attention
  /// methods and KV stores number only the layers with attention (ModelShape).
  int recurrent_before(int layer) const {
    int count = 0;
    for (int l = 0; l < layer && !recurrent.empty(); ++l) count += is_recurrent(l) ? 1 : 0;
    return count;
  }
  int attention_before(int layer) const {
    if (recurrent.empty()) return layer;
    int count = 0;
    for (int l = 0; l < layer; ++l) count += has_attention(l) ? 1 : 0;
    return count;
  }
  /// Returns the number of floats in the state of a recurrent layer.
  int64_t layer_state() const {
    if (!ssm.empty()) return ssm.numbers();
    return convolution.empty() ? delta.state() : convolution.state();
  }
  /// Returns the width of the rows that a recurrent part's output matrix reads.
  int64_t recurrent_width() const {
    if (!ssm.empty()) return ssm.inner();
    return convolution.empty() ? delta.values() : convolution.width;
  }
  /// Returns whether outputs of sublayers are scaled before they are added to the residual stream.
  bool scales_sublayers() const {
    return residual_scale != 1 || attention_out_scale != 1 || recurrent_out_scale != 1 ||
           ffn_out_scale != 1;
  }

  /// Returns the growth of the queries of a layer. If its rate is 0, queries are unchanged.
  QueryGrowth query_growth(int layer) const {
    const bool still = !other_angles.empty() && nth(other_angles, layer) != 0;
    if (still_growth.rate != 0) return still ? still_growth : QueryGrowth{};
    return {rope.original_context, temperature_scale};
  }

  /// Returns the names of the operations of this model that the families llama, qwen and phi3 do
  /// not have, or an empty string. Training supports only the operations of these families. It
  /// rejects other models with a message that contains these names.
  std::string beyond_plain() const;

  /// Returns the properties of the attention layers. RoPE angles that depend on the context length
  /// are computed for `length` tokens.
  ModelShape shape(int64_t length = 0) const;
};

/// Reads the configuration of a checkpoint. Throws UserError that names the file and the key if the
/// architecture is unknown, a key is missing, a value is out of range, or a RoPE scaling or
/// activation is not supported.
ModelConfig read_config(const Checkpoint& checkpoint);

// The following functions are parts of read_config(), for the two kinds of metadata.

/// Returns a configuration in which the settings have the values of the family.
ModelConfig config_of(const Family& family, CheckpointFormat format);
/// Returns one value per layer: 0 in every `every`-th layer and 1 in all others.
std::vector<uint8_t> recurrent_but_every(int every, int layers);
/// Returns one value per layer: 0 in every `every`-th layer and `width` in all others. If `every`
/// is 0, all values are `width`.
std::vector<int64_t> windows_but_every(int every, int64_t width, int layers);
/// Sets other_rope and other_angles. `rope` and `window` must be set. `window_base` is the RoPE
/// base that the file specifies for layers with a window, if any. `window_width` is true if the
/// file specifies the width of the window.
void set_layers_that_differ(const Family& family, std::optional<double> window_base,
                            bool window_width, ModelConfig& c);

ModelConfig read_gguf_config(const Checkpoint& checkpoint);
ModelConfig read_hf_config(const Checkpoint& checkpoint);

}  // namespace longhaul
