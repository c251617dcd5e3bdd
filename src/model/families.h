#pragma once
// Describes the model families as data. A Family holds the settings of a model's arithmetic that do
// not depend on the file. The readers of configurations copy these settings into ModelConfig. No
// other code depends on the name of a family.

#include <optional>
#include <string>
#include <string_view>

#include "format/checkpoint.h"
#include "ops/core/swiglu.h"
#include "ops/core/ungated.h"

namespace longhaul {

/// The tensor names of a layer's norm weights, without the ending .weight. `{}` stands for the
/// number of the layer. A null pointer means that layers do not have this norm.
struct LayerNorms {
  const char *attention, *attention_after;  ///< for the input and the output of attention
  const char *ffn, *ffn_after;  ///< for the input and the output of the feed-forward part
};

/// Kinds of norms of queries and keys. Norms are applied before RoPE, except for kFollowing.
enum class QkNorm : uint8_t {
  kNone,
  kHead,      ///< each head by itself
  kWhole,     ///< all heads together
  kFollowing  ///< each head by itself, after RoPE
};

/// Axes of the tensor in Hugging Face folders that holds the gate and up matrices of all experts of
/// a layer.
enum class ExpertOrder : uint8_t {
  kRows,         ///< [experts, gate then up, inputs]
  kColumns,      ///< [experts, inputs, gate then up]
  kWovenColumns  ///< [experts, inputs, gate and up alternating], or blocks of MXFP4
};

/// Kinds of families whose layers have recurrent parts other than gated delta nets
/// (model/hybrid_config.h).
enum class Hybrid : uint8_t {
  kNone,
  kConvolution,  ///< each layer has attention or a gated short convolution
  kMamba,        ///< each layer has attention or a Mamba-2 part
  kBeside,       ///< each layer has attention and a Mamba-2 part
  kAlone         ///< each layer has only one of attention, a Mamba-2 part and a feed-forward part
};

struct Family {
  /// Names of the family in files: general.architecture in GGUF, and model_type in config.json.
  /// Several families may share one of the two names.
  std::string_view gguf, hugging_face;
  LayerNorms gguf_norms = {"blk.{}.attn_norm", nullptr, "blk.{}.ffn_norm", nullptr};
  LayerNorms hf_norms = {"model.layers.{}.input_layernorm", nullptr,
                         "model.layers.{}.post_attention_layernorm", nullptr};
  const char* hf_usual = "{}";  ///< JSON object: defaults of keys that config.json may omit
  /// JSON object that maps names of keys in the family's config.json to the names that other
  /// families use for these keys.
  const char* hf_names = "{}";
  QkNorm qk_norm = QkNorm::kNone;
  /// Whether RoPE rotates rows 2t and 2t + 1 of a head of Q and K as a pair, in GGUF files and in
  /// Hugging Face folders.
  bool gguf_pairs = false, hf_pairs = false;
  bool qkv_bias = false;  ///< whether q, k and v have biases in every file
  /// Whether attention's output matrix, the router and the experts have biases.
  bool biases = false;
  /// Whether the gate and up matrices may be stored as one, in GGUF as `up`.
  bool fused_gate_up = false;
  bool hf_norm_offset = false;  ///< whether norm weights in Hugging Face folders are 1 too small
  Gating gating = {};
  Ungated ungated = Ungated::kNone;  ///< activation of a feed-forward network without a gate
  bool mean_norms = false;           ///< whether norms subtract the mean (LayerNorm)
  /// Whether attention and the feed-forward network of a layer have the same input.
  bool parallel = false;
  /// Whether each query head has a sink logit, whose exponential is added to the softmax
  /// denominator.
  bool sinks = false;
  /// Whether the matrix Q also contains rows that compute gates for the output of attention.
  bool output_gate = false;
  /// Every n-th layer has attention, and the other layers have gated delta nets. 0: all layers have
  /// attention.
  int recurrent_but_every = 0;
  /// Value of DeltaShape::tiled for GGUF files.
  bool gguf_tiled = false;
  Hybrid hybrid = Hybrid::kNone;

  // The following settings are about factors, caps and experts.
  bool embedding_by_size = false;  ///< whether token embeddings are multiplied by sqrt(hidden)
  /// Whether the file specifies factors for embeddings, sublayer outputs, attention and logits.
  bool multipliers = false;
  bool logit_factor = false;  ///< whether the file specifies a factor for logits only
  /// Whether queries are multiplied by a factor that grows with their position
  /// (ModelConfig::temperature_scale).
  bool temperature = false;
  bool query_scale = false;  ///< whether attention_scale is computed from query_pre_attn_scalar
  /// GGUF files do not contain query_pre_attn_scalar. In models with this number of layers, it is
  /// hidden / heads instead of head_dim.
  int gguf_wide_layers = 0;
  bool caps = false;  ///< whether logits have soft caps; the next two members are the defaults
  float attention_cap = 0, logit_cap = 0;
  bool experts = false;
  ExpertOrder hf_experts = ExpertOrder::kRows;
  /// Default of norm_topk_prob for Hugging Face folders: whether the weights of a row's experts are
  /// normalised to sum 1.
  bool hf_norm_topk_prob = true;
  bool expert_sigmoid = false;  ///< whether the scores of experts are sigmoids
  bool choice_bias = false;     ///< whether a stored bias is added to the scores for the selection
  /// Whether models have a shared expert, which all rows use, and first layers without experts.
  bool shared_experts = false;
  /// Default of norm_topk_prob for GGUF files without the key expert_weights_norm.
  bool gguf_norm_topk_prob = false;
  bool shared_gate = false;  ///< whether the shared expert has a gate
  /// Whether qk_norm applies only to models whose file has the key use_qk_norm or the tensors of
  /// these norms.
  bool qk_norm_flag = false;

  /// Number of shared experts if a GGUF file does not specify it.
  int gguf_shared_experts = 0;
  /// Whether an expert's weight multiplies its input instead of its output.
  bool weighs_inputs = false;
  /// Whether the file may specify that only every n-th layer may have experts
  /// (interleave_moe_layer_step = n).
  bool expert_steps = false;
  /// Whether the layers of a model differ as in Llama 4. Layers with RoPE have attention within
  /// chunks (attention_chunk_size), and norms of queries and keys without weights (use_qk_norm). In
  /// layers without RoPE, queries grow with their position (attn_temperature_tuning).
  bool chunks = false;
  /// Whether a dynamic RoPE scaling in config.json may have the key `alpha`, a fixed factor of the
  /// RoPE base.
  bool rope_alpha = false;

  // The following settings are those of Gemma 4 (model/layer_kinds.h).
  /// Whether layers without a sliding window have another size and number of heads than the other
  /// layers. The last layers may also use the keys and values of earlier layers.
  bool layer_kinds = false;
  bool value_norm = false;  ///< whether values are normalised, without a weight
  bool unit_scale = false;  ///< whether the dot product of query and key is not scaled
  /// Whether each layer may add a per-layer embedding (model/layer_inputs.h) and scale its output.
  bool layer_inputs = false;
  /// Whether the experts and the shared expert each have norms for their input and output.
  bool experts_apart = false;

  // The following settings are those of families with multi-head latent attention
  // (model/latent_config.h).
  bool latent = false;  ///< whether layers have multi-head latent attention
  /// Whether the experts are divided into groups, and only the best groups are used.
  bool expert_groups = false;

  // The following settings are about sliding windows. The key `sliding_window` of config.json is
  // the width of the window. All layers have the window, unless another key excludes some layers.
  bool windows = true;         ///< whether the key `sliding_window` is used
  bool window_flag = false;    ///< whether the window applies only if use_sliding_window is true
  bool window_layers = false;  ///< whether the first max_window_layers layers have no window
  bool still_windows = false;  ///< whether only layers without RoPE have the window
  /// Whether the key attention.sliding_window of a GGUF file is used. Some families have this key,
  /// but none of their released models has a window: the config.json disables the window, and
  /// converters copied only its width.
  bool gguf_windows = false;

  // The following settings are about differences between layers. Every full_every-th layer has no
  // window, and the other layers have one. With full_every = 0, all layers have the window if the
  // model has one.
  int full_every = 0;
  /// For GGUF files: value of RopeSpec::whole_pairs.
  bool whole_yarn_pairs = true;
  /// For GGUF files: whether rope.scaling.attn_factor is the whole factor of cos and sin of yarn,
  /// as copied from config.json. Otherwise it multiplies the default factor of yarn.
  bool whole_attn_factor = false;
  /// RoPE base of the layers with a window. These layers then have no RoPE scaling. If the base is
  /// 0, they have the same RoPE as the other layers. If window_unscaled is true, they have the base
  /// of the other layers without scaling.
  double window_rope_base = 0;
  bool window_unscaled = false;
  /// Whether config.json may specify window_rope_base as rope_local_base_freq.
  bool local_base_key = false;
  int still_every = 0;  ///< every still_every-th layer has no RoPE; 0: all layers have RoPE
  /// Whether layers without a window have no RoPE, if other layers have a window.
  bool still_full = false;
};

/// Returns the first family with this name in the given file format, or null if there is none.
const Family* find_family(CheckpointFormat format, std::string_view name);
/// Returns the names of all supported families, for error messages.
std::string family_names(CheckpointFormat format);
/// Returns whether two names can belong to the same family. Each may be a name in GGUF files or in
/// Hugging Face folders.
bool same_family(std::string_view one, std::string_view other);

}  // namespace longhaul
