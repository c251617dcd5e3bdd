#pragma once
// The arithmetic of each model family that does not depend on the file: one row of data per family.
// Readers of configurations copy it into ModelConfig. No other code depends on a family's name.

#include <optional>
#include <string>
#include <string_view>

#include "format/checkpoint.h"
#include "ops/core/swiglu.h"
#include "ops/core/ungated.h"

namespace longhaul {

/// The norms of a layer, by the names of their weights (without .weight; `{}`: the layer). Null
/// means that the layer has no such norm.
struct LayerNorms {
  const char *attention, *attention_after;  ///< for the input and the output of attention
  const char *ffn, *ffn_after;              ///< for those of the feed-forward part
};

/// Norms of queries and keys before rotation.
enum class QkNorm : uint8_t {
  kNone,
  kHead,  ///< each head by itself
  kWhole  ///< all heads together
};

struct Family {
  std::string_view gguf, hugging_face;  ///< general.architecture, model_type; may share one
  LayerNorms gguf_norms = {"blk.{}.attn_norm", nullptr, "blk.{}.ffn_norm", nullptr};
  LayerNorms hf_norms = {"model.layers.{}.input_layernorm", nullptr,
                         "model.layers.{}.post_attention_layernorm", nullptr};
  const char* hf_refusal = nullptr;  ///< reason why its Hugging Face folders cannot be read
  const char* hf_usual = "{}";       ///< JSON: values of keys that its config.json may leave out
  QkNorm qk_norm = QkNorm::kNone;
  bool gguf_pairs = false, hf_pairs = false;  ///< Q and K rows pair (2t, 2t + 1)
  bool qkv_bias = false;                      ///< q, k and v have biases in every file
  bool biases = false;                        ///< so have output matrix, router and experts
  bool fused_gate_up = false;   ///< may be one matrix, under the name that GGUF has for up
  bool hf_norm_offset = false;  ///< Hugging Face files hold weights of norms minus 1
  Gating gating = {};
  Ungated ungated = Ungated::kNone;  ///< the feed-forward part has no gate
  bool mean_norms = false;           ///< norms subtract the mean (LayerNorm)
  bool parallel = false;             ///< attention and network read the same normalised rows
  bool sinks = false;                ///< a logit per head in the softmax's denominator
  bool output_gate = false;          ///< Q has rows of a gate for the output of attention
  /// Every n-th layer has attention and the others are gated delta nets; 0: all have attention.
  int recurrent_but_every = 0;
  bool gguf_tiled = false;  ///< in GGUF files value heads of delta nets are tiled (DeltaShape)

  // Numbers that files may hold.
  bool embedding_by_size = false;  ///< embeddings are multiplied by sqrt(hidden)
  bool multipliers = false;        ///< for embeddings, sublayers, attention and logits
  bool logit_factor = false;       ///< for logits alone
  bool temperature = false;        ///< queries are scaled by position
  bool query_scale = false;        ///< scale of attention from query_pre_attn_scalar
  /// In GGUF files of models with this many layers query_pre_attn_scalar is hidden / heads.
  int gguf_wide_layers = 0;
  bool caps = false;  ///< soft caps of logits, with these defaults
  float attention_cap = 0, logit_cap = 0;
  bool experts = false;
  bool hf_norm_topk_prob = true;  ///< default: weights of a row's experts have sum 1
  bool expert_sigmoid = false;    ///< scores of experts are sigmoids
  bool choice_bias = false;       ///< a bias is added to the scores for the selection
  bool shared_experts = false;    ///< one more network for all rows; dense first layers
  bool shared_gate = false;       ///< the network beside the experts has a gate
  bool qk_norm_flag = false;      ///< qk_norm applies if the file has the key or the tensors

  // Gemma 4 (model/layer_kinds.h).
  /// Layers without a window have heads of their own size and number; the last layers may share
  /// keys and values of earlier ones.
  bool layer_kinds = false;
  bool value_norm = false;     ///< values are normalised too, without a weight
  bool unit_scale = false;     ///< the factor of q . k is 1
  bool layer_inputs = false;   ///< each layer may add an embedding of its own and scale its output
  bool experts_apart = false;  ///< experts and the network beside them have norms of their own

  // Multi-head latent attention (model/latent_config.h).
  bool latent = false;         ///< all query heads of a layer share one latent vector
  bool expert_groups = false;  ///< experts are chosen among those of the best groups

  // Windows. In config.json `sliding_window` is the width. All layers have it unless another key
  // excludes some.
  bool windows = true;         ///< the key has a meaning
  bool window_flag = false;    ///< it applies only with use_sliding_window
  bool window_layers = false;  ///< layers before max_window_layers see everything
  bool still_windows = false;  ///< only layers without rotation have the window
  /// attention.sliding_window of a GGUF file has a meaning. It has none for families whose released
  /// models see everything: converters copied it from files that disable it.
  bool gguf_windows = false;

  // Layers that differ. Every full_every-th layer sees everything and the others see a window. 0:
  // if there is a window, all layers have it.
  int full_every = 0;
  bool whole_yarn_pairs = true;  ///< in GGUF files: yarn's ramp begins and ends at whole pairs
  /// In GGUF files: rope.scaling.attn_factor is yarn's whole magnitude, as converters copy it from
  /// config.json, not a factor of it.
  bool whole_attn_factor = false;
  /// The RoPE base of layers with a window, which are not scaled. 0: they rotate like the others
  /// or, with window_unscaled, with the unscaled base of the others.
  double window_rope_base = 0;
  bool window_unscaled = false;
  bool local_base_key = false;  ///< config.json may hold it as rope_local_base_freq
  int still_every = 0;          ///< every still_every-th layer does not rotate; 0: all rotate
  bool still_full = false;      ///< layers without a window do not rotate, if others have one
};

/// Returns the first matching family, or null if there is none.
const Family* find_family(CheckpointFormat format, std::string_view name);
/// The supported names, for messages.
std::string family_names(CheckpointFormat format);
/// Returns whether a file of either kind may use both names for one family.
bool same_family(std::string_view one, std::string_view other);

}  // namespace longhaul
