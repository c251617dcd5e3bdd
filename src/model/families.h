#pragma once
// Describes the model families. Each family is one row of data, which contains the arithmetic that
// does not depend on the file. The readers of configurations copy it into ModelConfig. No other
// code depends on the name of a family.

#include <optional>
#include <string>
#include <string_view>

#include "format/checkpoint.h"
#include "ops/core/swiglu.h"
#include "ops/core/ungated.h"

namespace longhaul {

/// The names of a layer's norm weights, without .weight. `{}` stands for the number of the layer.
/// Null means that the layer does not have this norm.
struct LayerNorms {
  const char *attention, *attention_after;  ///< for the input and the output of attention
  const char *ffn, *ffn_after;  ///< for the input and the output of the feed-forward part
};

/// Norms of queries and keys, which precede the rotation except for kFollowing.
enum class QkNorm : uint8_t {
  kNone,
  kHead,      ///< each head by itself
  kWhole,     ///< all heads together
  kFollowing  ///< each head by itself, after rotation
};

/// Form of the experts in Hugging Face folders that hold gate and up of all experts in one tensor.
enum class ExpertOrder : uint8_t {
  kRows,         ///< [experts, gate then up, inputs]
  kColumns,      ///< [experts, inputs, gate then up]
  kWovenColumns  ///< [experts, inputs, gate and up in turn], or blocks of MXFP4
};

/// Which layers of a family have recurrent parts other than gated delta nets
/// (model/hybrid_config.h).
enum class Hybrid : uint8_t {
  kNone,
  kConvolution,  ///< layers have attention or a gated short convolution
  kMamba,        ///< layers have attention or a Mamba-2 layer
  kBeside,       ///< all layers have both
  kAlone         ///< a layer is attention, a Mamba-2 layer, or a feed-forward part alone
};

struct Family {
  /// Names in the files: general.architecture and model_type. Several families may share one of
  /// them.
  std::string_view gguf, hugging_face;
  LayerNorms gguf_norms = {"blk.{}.attn_norm", nullptr, "blk.{}.ffn_norm", nullptr};
  LayerNorms hf_norms = {"model.layers.{}.input_layernorm", nullptr,
                         "model.layers.{}.post_attention_layernorm", nullptr};
  const char* hf_usual = "{}";  ///< JSON object: default values of keys that config.json may omit
  /// JSON object: names that config.json may use, and the usual names of these keys.
  const char* hf_names = "{}";
  QkNorm qk_norm = QkNorm::kNone;
  /// Whether rows 2t and 2t + 1 of a head of Q and K form a rotary pair.
  bool gguf_pairs = false, hf_pairs = false;
  bool qkv_bias = false;  ///< whether q, k and v have biases in every file
  bool biases = false;    ///< whether the output matrix, the router and the experts have biases
  bool fused_gate_up = false;  ///< whether gate and up may be one matrix, under GGUF's name of `up`
  bool hf_norm_offset = false;  ///< whether Hugging Face files store the weights of norms minus 1
  Gating gating = {};
  Ungated ungated = Ungated::kNone;  ///< activation if the feed-forward part has no gate
  bool mean_norms = false;           ///< whether norms subtract the mean (LayerNorm)
  /// Whether attention and the feed-forward network read the same normalised rows.
  bool parallel = false;
  /// Whether each head has a sink logit, which is added to the denominator of its softmax.
  bool sinks = false;
  /// Whether Q also contains the rows of a gate for the output of attention.
  bool output_gate = false;
  /// Every n-th layer has attention, and the others are gated delta nets. 0: all layers have
  /// attention.
  int recurrent_but_every = 0;
  /// Whether value heads of delta nets are tiled in GGUF files (DeltaShape).
  bool gguf_tiled = false;
  Hybrid hybrid = Hybrid::kNone;

  // Settings about factors, caps and experts:
  bool embedding_by_size = false;  ///< whether embedded tokens are multiplied by sqrt(hidden)
  /// Whether the file has factors for embeddings, sublayers, attention and logits.
  bool multipliers = false;
  bool logit_factor = false;  ///< whether the file has a factor for logits only
  /// Whether queries are scaled by position (ModelConfig::temperature_scale).
  bool temperature = false;
  bool query_scale = false;  ///< whether the scale of attention follows from query_pre_attn_scalar
  /// In GGUF files of models with this number of layers, query_pre_attn_scalar is hidden / heads.
  int gguf_wide_layers = 0;
  bool caps = false;  ///< whether logits have soft caps; the defaults follow
  float attention_cap = 0, logit_cap = 0;
  bool experts = false;
  ExpertOrder hf_experts = ExpertOrder::kRows;
  /// Default value: whether the weights of a row's experts have sum 1.
  bool hf_norm_topk_prob = true;
  bool expert_sigmoid = false;  ///< whether the scores of experts are sigmoids
  bool choice_bias = false;     ///< whether a bias is added to the scores when experts are selected
  /// Whether there is a shared expert that all rows use, and the first layers have no experts.
  bool shared_experts = false;
  /// Whether the weights of a row's experts have sum 1 in GGUF files without a key for it.
  bool gguf_norm_topk_prob = false;
  bool shared_gate = false;  ///< whether the shared expert has a gate
  /// Whether qk_norm applies only if the file has the key or the tensors.
  bool qk_norm_flag = false;

  /// Number of shared experts of GGUF files that do not contain it.
  int gguf_shared_experts = 0;
  /// Whether an expert's weight multiplies its input, not its output.
  bool weighs_inputs = false;
  /// Whether only every n-th layer may have experts (interleave_moe_layer_step).
  bool expert_steps = false;
  /// Whether layers that rotate have attention in chunks (attention_chunk_size), norms of queries
  /// and keys without weights (use_qk_norm), and the others have queries that grow with their
  /// position (attn_temperature_tuning).
  bool chunks = false;
  /// Whether `alpha` of a dynamic RoPE scaling in config.json is a fixed factor of the base.
  bool rope_alpha = false;

  // Settings of Gemma 4 (model/layer_kinds.h):
  /// Whether layers without a window have another size and number of heads. The last layers may use
  /// the keys and values of earlier layers.
  bool layer_kinds = false;
  bool value_norm = false;  ///< whether values are normalised, without a weight
  bool unit_scale = false;  ///< whether the factor of the dot product of query and key is 1
  /// Whether each layer may add an embedding of its own and scale its output.
  bool layer_inputs = false;
  /// Whether the experts and the shared expert have norms of their own.
  bool experts_apart = false;

  // Settings of multi-head latent attention (model/latent_config.h).
  bool latent = false;  ///< whether all query heads of a layer share one latent vector
  /// Whether the experts are divided into groups, and only the best groups are used.
  bool expert_groups = false;

  // Settings of sliding windows. In config.json `sliding_window` is the width. All layers have the
  // window, unless another key excludes some.
  bool windows = true;         ///< whether the key `sliding_window` is used
  bool window_flag = false;    ///< whether the window applies only if use_sliding_window is true
  bool window_layers = false;  ///< whether layers before max_window_layers have no window
  bool still_windows = false;  ///< whether only layers without rotation have the window
  /// Whether attention.sliding_window of a GGUF file is used. It is not used for families whose
  /// released models have no window, because converters copied the key from files that disable it.
  bool gguf_windows = false;

  // Settings of layers that differ. Every full_every-th layer has no window, and the others have
  // one. With full_every = 0, all layers have the window if there is one.
  int full_every = 0;
  /// In GGUF files: whether yarn's ramp begins and ends at whole pairs.
  bool whole_yarn_pairs = true;
  /// In GGUF files: whether rope.scaling.attn_factor is the whole magnitude of yarn, not a factor
  /// of it. Converters copy it from config.json in this form.
  bool whole_attn_factor = false;
  /// The RoPE base of layers with a window, which have no scaling. If it is 0, these layers rotate
  /// like the others. With window_unscaled, they use the base of the others, but no scaling.
  double window_rope_base = 0;
  bool window_unscaled = false;
  /// Whether config.json may contain this base as rope_local_base_freq.
  bool local_base_key = false;
  int still_every = 0;  ///< every still_every-th layer has no rotation; 0: all layers rotate
  /// Whether layers without a window have no rotation, if other layers have a window.
  bool still_full = false;
};

/// Returns the first family with this name, or null if there is none.
const Family* find_family(CheckpointFormat format, std::string_view name);
/// Returns the names of all supported families, for messages.
std::string family_names(CheckpointFormat format);
/// Returns whether both names can belong to the same family. Each of them may come from a GGUF file
/// or from a Hugging Face folder.
bool same_family(std::string_view one, std::string_view other);

}  // namespace longhaul
