#pragma once
// What each model family's arithmetic is, whatever a file says: one row of data per family. Readers
// of configurations copy it into ModelConfig; nothing else asks for a family by name.

#include <optional>
#include <string>
#include <string_view>

#include "format/checkpoint.h"
#include "ops/core/swiglu.h"

namespace longhaul {

/// Which norms a layer has, by the names of their weights (without .weight; `{}`: the layer). Null:
/// it has none there.
struct LayerNorms {
  const char *attention, *attention_after;  ///< of what attention reads, and of what it writes
  const char *ffn, *ffn_after;              ///< the same of the feed-forward part
};

/// Norms of queries and keys, before they are rotated.
enum class QkNorm : uint8_t {
  kNone,
  kHead,  ///< of each head
  kWhole  ///< of all heads together
};

struct Family {
  std::string_view gguf, hugging_face;  ///< general.architecture, model_type; may share one
  LayerNorms gguf_norms = {"blk.{}.attn_norm", nullptr, "blk.{}.ffn_norm", nullptr};
  LayerNorms hf_norms = {"model.layers.{}.input_layernorm", nullptr,
                         "model.layers.{}.post_attention_layernorm", nullptr};
  const char* hf_refusal = nullptr;  ///< why Hugging Face folders of it cannot be read
  const char* hf_usual = "{}";       ///< JSON: values of keys that its config.json may leave out
  QkNorm qk_norm = QkNorm::kNone;
  bool gguf_pairs = false, hf_pairs = false;  ///< Q and K rows pair (2t, 2t + 1)
  bool qkv_bias = false;                      ///< q, k and v have biases, whatever the file says
  bool biases = false;                        ///< of output matrix, router and experts as well
  bool fused_gate_up = false;   ///< may be one matrix, which GGUF names as others name up
  bool hf_norm_offset = false;  ///< Hugging Face files hold norms' weights less 1
  Gating gating = {};
  bool sinks = false;  ///< a logit per head in the softmax's denominator

  // Numbers that files may hold.
  bool embedding_by_size = false;  ///< embeddings times sqrt(hidden)
  bool multipliers = false;        ///< of embeddings, sublayers, attention and logits
  bool temperature = false;        ///< queries grow with their position
  bool query_scale = false;        ///< attention's, from query_pre_attn_scalar
  /// GGUF files of models with this many layers: query_pre_attn_scalar is hidden / heads.
  int gguf_wide_layers = 0;
  bool caps = false;  ///< of logits: these where the file does not say
  float attention_cap = 0, logit_cap = 0;
  bool experts = false;
  bool hf_norm_topk_prob = true;  ///< weights of chosen experts, where the file does not say
  bool expert_sigmoid = false;    ///< scores of experts are sigmoids, with a bias for the choice
  bool shared_experts = false;    ///< a network for all rows beside them; first layers without them
  bool qk_norm_flag = false;      ///< qk_norm holds where the file says so, or has the tensors

  // Windows. In config.json `sliding_window` is the width, which all layers have where nothing else
  // is said.
  bool windows = true;         ///< the key has a meaning
  bool window_flag = false;    ///< it counts with use_sliding_window only
  bool window_layers = false;  ///< layers before max_window_layers see everything
  bool still_windows = false;  ///< only layers that do not rotate have the window
  /// attention.sliding_window of a GGUF file has a meaning. It has none in files of families whose
  /// released models see everything: converters copied it from files that switch it off.
  bool gguf_windows = false;

  // Layers that differ. Every full_every-th layer sees everything and the others see a window; 0:
  // if there is a window, all layers have it.
  int full_every = 0;
  bool whole_yarn_pairs = true;  ///< in GGUF files: yarn's ramp begins and ends at whole pairs
  /// In GGUF files: rope.scaling.attn_factor is yarn's whole magnitude, as converters copy it from
  /// config.json, not a factor of it.
  bool whole_attn_factor = false;
  /// The RoPE base of layers with a window, which are not scaled; 0: they rotate as the others do,
  /// or, with window_unscaled, by the base of the others.
  double window_rope_base = 0;
  bool window_unscaled = false;
  bool local_base_key = false;  ///< config.json may hold it as rope_local_base_freq
  int still_every = 0;          ///< every still_every-th layer does not rotate; 0: all rotate
  bool still_full = false;      ///< layers that see everything do not, where others have a window
};

/// Null: not known. Of several the first.
const Family* find_family(CheckpointFormat format, std::string_view name);
/// The names that are known, for messages.
std::string family_names(CheckpointFormat format);
/// Whether a file of either kind may call one family by these names.
bool same_family(std::string_view one, std::string_view other);

}  // namespace longhaul
