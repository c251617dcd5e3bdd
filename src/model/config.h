#pragma once
// ModelConfig describes a decoder as data. It is read from the metadata of a GGUF file or of a
// Hugging Face folder. Model families differ in these values. There are no subclasses.

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
/// heads share one key and value per row. The key consists of `rope` elements that RoPE rotates,
/// followed by the latent vector.
struct LatentShape {
  int rank = 0;        ///< width of the latent vector; 0: the model has ordinary attention
  int query_rank = 0;  ///< width of the latent vector of a query; 0: queries have none
  int rope = 0;        ///< number of elements of a head that RoPE rotates
  int plain = 0;       ///< number of elements of a query head that RoPE does not rotate
  int value = 0;       ///< number of elements in the value of a head
  float eps = 1e-6f;   ///< epsilon of the norms of latent vectors
  bool used() const { return rank > 0; }
  int query() const { return rope + plain; }
};

/// The feed-forward part of a layer.
enum class FeedKind : uint8_t {
  kNone,
  kNetwork,  ///< one network for all rows
  kExperts
};

struct ModelConfig {
  std::string architecture;  ///< name of the architecture in the file
  int layers = 0;
  int hidden = 0;  ///< width of the residual stream
  int ffn = 0;     ///< width of the feed-forward network, or of each expert if there are experts
  /// Width of the feed-forward network in the first dense_layers layers, which have no experts.
  int dense_ffn = 0;
  /// Width of the shared expert, the network that all rows use in addition to their experts; 0:
  /// none.
  int shared_ffn = 0;
  int vocab = 0;
  int heads = 0;
  std::vector<int> kv_heads;   ///< per layer: number of KV heads
  int head_dim = 0;            ///< largest of all layers
  std::vector<int> head_dims;  ///< per layer; empty: head_dim in all layers
  /// Per layer: width of the feed-forward network that all rows use; empty: the same width in all
  /// layers.
  std::vector<int> dense_ffns;
  /// Per layer: 1 if the layer uses its keys as values; empty: no layer does.
  std::vector<uint8_t> key_values;
  /// Per layer: index of the layer whose keys and values the layer uses, usually its own index. If
  /// the vector is empty, all layers use their own.
  std::vector<int> kv_layer;
  int layer_input = 0;  ///< width of the per-layer embedding that each layer adds; 0: none
  float norm_eps = 1e-5f;
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer: sliding window in tokens; 0: none
  bool chunked = false;         ///< whether windows are chunks (ModelShape::chunked)
  RopeSpec rope;
  RopeSpec other_rope;  ///< RoPE of the layers that other_angles selects
  /// Per layer: 1 if the layer uses other_rope; empty: no layer does.
  std::vector<uint8_t> other_angles;
  /// Tensors of the checkpoint whose RoPE factors are included in `rope`.
  std::vector<std::string> rope_tensors;
  /// Per layer: 1 if the layer has a recurrent part; empty: no layer has one.
  std::vector<uint8_t> recurrent;
  /// Per layer: 1 if it has attention; empty: the layers without a recurrent part.
  std::vector<uint8_t> attentive;
  /// Per layer: its feed-forward part; empty: experts after the first dense_layers layers if there
  /// are experts, otherwise networks.
  std::vector<FeedKind> feeds;
  // Sizes of the recurrent parts. All recurrent layers are of one kind; the others are empty.
  DeltaShape delta;                   ///< gated delta nets
  SsmShape ssm;                       ///< Mamba-2 layers
  GatedConvolutionShape convolution;  ///< gated short convolutions
  LatentShape latent;
  bool qkv_bias = false;  ///< whether q, k and v have biases; all three are then required
  /// Whether the file must contain an output matrix. If false, the embedding serves as output
  /// matrix when the file has none.
  bool own_head = false;
  /// Whether rows 2t and 2t + 1 of a head of Q and K form a rotary pair (GGUF files of llama).
  bool interleaved_rope = false;

  // The following settings have these values in most families.
  LayerNorms norms;                ///< which norms have weights in the file
  QkNorm qk_norm = QkNorm::kNone;  ///< norms of queries and keys
  /// Whether norms of queries and keys have no weights, and only layers that rotate have them.
  bool plain_qk_norm = false;
  bool norm_offset = false;          ///< whether the file stores the weights of norms minus 1
  Gating gating;                     ///< activation of the feed-forward part
  Ungated ungated = Ungated::kNone;  ///< activation of a feed-forward network without a gate
  bool mean_norms = false;           ///< whether norms subtract the mean (LayerNorm)
  /// Whether attention and the feed-forward network read the same normalised rows.
  bool parallel = false;
  bool biases = false;  ///< whether the output matrix, the router and the experts have biases
  bool fused_gate_up = false;  ///< whether gate and up may be one matrix in the file
  /// Whether Q also contains the rows of a gate for the output of attention.
  bool output_gate = false;
  bool shared_gate = false;   ///< whether the shared expert has a gate
  bool value_norm = false;    ///< whether the values of a head are normalised, without a weight
  bool layer_scales = false;  ///< whether each layer scales its output
  /// Whether the experts and the shared expert have norms of their own.
  bool experts_apart = false;
  /// Whether each head has a sink logit, which is added to the denominator of its softmax.
  bool sinks = false;
  float embedding_scale = 1;  ///< factor of the embedded tokens
  float residual_scale = 1;   ///< factor of each sublayer's output
  // Further factors of the outputs of attention, of recurrent parts and of feed-forward parts.
  float attention_out_scale = 1, recurrent_out_scale = 1, ffn_out_scale = 1;
  float attention_scale = 0;  ///< factor of the dot product of query and key; 0: 1 / sqrt(head_dim)
  /// Queries at position p are multiplied by 1 + temperature_scale * ln(1 + floor(p /
  /// rope.original_context)). 0 leaves them unchanged.
  float temperature_scale = 0;
  /// Growth of queries of layers without rotation, where position p counts as p + 1. A rate of 0
  /// leaves them unchanged.
  QueryGrowth still_growth = {};
  float logit_scale = 1;    ///< factor of the logits
  float attention_cap = 0;  ///< soft cap c tanh(x / c) of attention logits; 0: none
  float logit_cap = 0;      ///< soft cap of the model's logits; 0: none
  int experts = 0;          ///< number of experts; 0: a single network for all rows
  int experts_used = 0;     ///< number of experts that each row uses
  int dense_layers = 0;     ///< number of first layers without experts
  /// Number of further layers in the file after the model's last layer. These layers predict
  /// several tokens ahead and are not used.
  int left_out_layers = 0;
  int expert_step = 1;         ///< every n-th layer may have experts, others have none
  bool weighs_inputs = false;  ///< whether an expert's weight multiplies its input
  ExpertOrder expert_order = ExpertOrder::kRows;  ///< in Hugging Face folders
  bool norm_topk_prob = true;   ///< whether the weights of a row's experts are normalised to sum 1
  bool expert_sigmoid = false;  ///< whether the scores of experts are sigmoids
  bool choice_bias = false;     ///< whether a bias is added to the scores when experts are selected
  float expert_scale = 1;       ///< factor of the experts' weights
  int expert_groups = 1;        ///< number of groups into which the experts are divided
  int groups_used = 1;          ///< number of groups from which a row may use experts
  /// Whether the score of a group is that of its best expert; false: the sum of its two best.
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
  /// Returns whether the layer uses the keys and values of an earlier layer.
  bool shares_kv(int layer) const { return !kv_layer.empty() && nth(kv_layer, layer) != layer; }
  /// Returns whether later layers use the keys and values of this layer.
  bool lends_kv(int layer) const {
    return !kv_layer.empty() && std::count(kv_layer.begin(), kv_layer.end(), layer) > 1;
  }

  /// Returns the rule that selects the experts of a row. `bias` and `scales` are the bias of the
  /// experts' scores and the factors of their weights, in the memory where the selection runs;
  /// null: none.
  ExpertRule expert_rule(const float* bias, const float* scales) const {
    return {norm_topk_prob, expert_sigmoid, bias,          expert_scale,
            expert_groups,  groups_used,    best_of_group, scales};
  }

  bool is_recurrent(int layer) const { return !recurrent.empty() && nth(recurrent, layer) != 0; }
  bool has_attention(int layer) const {
    return attentive.empty() ? !is_recurrent(layer) : nth(attentive, layer) != 0;
  }
  /// Returns whether attention and a recurrent part of the layer read the same normalised rows.
  bool has_both(int layer) const { return is_recurrent(layer) && has_attention(layer); }
  FeedKind feed_of(int layer) const {
    if (!feeds.empty()) return nth(feeds, layer);
    return has_experts(layer) ? FeedKind::kExperts : FeedKind::kNetwork;
  }
  int recurrent_layers() const { return recurrent_before(layers); }
  int attention_layers() const { return attention_before(layers); }
  /// Return the number of earlier layers with a recurrent part or with attention. Methods and
  /// stores count only the layers with attention (ModelShape).
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
  /// Returns the width of a recurrent part's output, the input of its output matrix.
  int64_t recurrent_width() const {
    if (!ssm.empty()) return ssm.inner();
    return convolution.empty() ? delta.values() : convolution.width;
  }
  /// Returns whether outputs of sublayers are scaled before they are added to the stream.
  bool scales_sublayers() const {
    return residual_scale != 1 || attention_out_scale != 1 || recurrent_out_scale != 1 ||
           ffn_out_scale != 1;
  }

  /// Returns the growth of the queries of a layer; rate 0: none.
  QueryGrowth query_growth(int layer) const {
    const bool still = !other_angles.empty() && nth(other_angles, layer) != 0;
    if (still_growth.rate != 0) return still ? still_growth : QueryGrowth{};
    return {rope.original_context, temperature_scale};
  }

  /// Returns the names of the operations that the model needs but llama, qwen and phi3 do not. The
  /// result is empty if there are none. Gradients (training/) support only the operations of these
  /// families, and reject other models with a message that contains these names.
  std::string beyond_plain() const;

  /// Returns the properties of the attention layers. The RoPE angles are those of a context of
  /// `length` tokens.
  ModelShape shape(int64_t length = 0) const;
};

/// Reads the configuration of a checkpoint. Throws UserError that names the file and the key if the
/// architecture is unknown, a key is missing, a value is out of range, or a RoPE scaling or
/// activation is not supported.
ModelConfig read_config(const Checkpoint& checkpoint);

// Functions for the readers of the two kinds of metadata:

/// Returns a configuration with the values of the family.
ModelConfig config_of(const Family& family, CheckpointFormat format);
/// Returns one value per layer: 0 in every `every`-th layer and 1 in all others.
std::vector<uint8_t> recurrent_but_every(int every, int layers);
/// Returns one value per layer: 0 in every `every`-th layer and `width` in all others. If `every`
/// is 0, all values are `width`.
std::vector<int64_t> windows_but_every(int every, int64_t width, int layers);
/// Sets other_rope and other_angles. `rope` and `window` must be set. `window_base` is the RoPE
/// base that the file specifies for layers with a window. `window_width` says whether the file
/// specifies the width of the window.
void set_layers_that_differ(const Family& family, std::optional<double> window_base,
                            bool window_width, ModelConfig& c);

ModelConfig read_gguf_config(const Checkpoint& checkpoint);
ModelConfig read_hf_config(const Checkpoint& checkpoint);

}  // namespace longhaul
