#include "model/hybrid_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/ssm_config.h"

namespace longhaul {
namespace {

using nlohmann::json;

/// Returns 1 for each layer whose type is `recurrent`, and 0 for layers with full attention.
std::vector<uint8_t> recurrent_by_types(const ConfigFields& fields, const char* key,
                                        std::initializer_list<const char*> recurrent, int layers) {
  const json& types = fields.object().at(key);
  if (!types.is_array() || types.size() != static_cast<size_t>(layers)) {
    user_error("{}: '{}' does not list one type for each of {} layers", fields.file(), key, layers);
  }
  std::vector<uint8_t> flags;
  for (const json& type : types) {
    const bool recurs = std::any_of(recurrent.begin(), recurrent.end(),
                                    [&](const char* name) { return type == name; });
    if (!recurs && type != "full_attention" && type != "attention") {
      user_error("{}: {}[{}]: {} is not supported, only {} and full_attention are", fields.file(),
                 key, flags.size(), printable(type.dump()), *recurrent.begin());
    }
    flags.push_back(recurs ? 1 : 0);
  }
  return flags;
}

/// Returns 0 for the layers whose numbers the key lists, and 1 for all others.
std::vector<uint8_t> recurrent_but_listed(const ConfigFields& fields, const char* key, int layers) {
  std::vector<uint8_t> flags(static_cast<size_t>(layers), 1);
  if (!fields.has(key)) user_error("{}: '{}' is missing", fields.file(), key);
  const json& numbers = fields.object().at(key);
  if (!numbers.is_array()) {
    user_error("{}: '{}' is {}, expected a list", fields.file(), key, printable(numbers.dump()));
  }
  for (const json& number : numbers) {
    const int64_t layer = number.is_number_integer() ? number.get<int64_t>() : -1;
    if (layer < 0 || layer >= layers) {
      user_error("{}: '{}' holds {}, expected numbers of {} layers", fields.file(), key,
                 printable(number.dump()), layers);
    }
    nth(flags, layer) = 0;
  }
  return flags;
}

/// Returns the width of the feed-forward network, computed from LFM2's settings.
int adjusted_width(const ConfigFields& fields, int width) {
  if (!fields.flag("block_auto_adjust_ff_dim")) return width;
  const double factor = fields.real("block_ffn_dim_multiplier", 1);
  const int64_t multiple = fields.integer("block_multiple_of");
  if (!(factor > 0 && factor <= 64) || multiple < 1 || multiple > 1 << 20) {
    user_error("{}: 'block_ffn_dim_multiplier' is {}, 'block_multiple_of' is {}", fields.file(),
               factor, multiple);
  }
  const auto scaled = static_cast<int64_t>(factor * static_cast<double>(2 * int64_t{width} / 3));
  return static_cast<int>(
      std::min<int64_t>((scaled + multiple - 1) / multiple * multiple, 1 << 30));
}

void check_convolution(const std::string& file, const std::string& key, const ModelConfig& c) {
  if (c.convolution.kernel >= 2 && c.convolution.kernel <= 64) return;
  user_error("{}: {} is {}, which is outside 2..64", file, key, c.convolution.kernel);
}

void read_convolution(const ConfigFields& fields, ModelConfig& c) {
  if (fields.flag("conv_bias")) {
    user_error("{}: conv_bias is true, which is not supported", fields.file());
  }
  c.convolution = {c.hidden, fields.integer("conv_L_cache")};
  check_convolution(fields.file(), "conv_L_cache", c);
  c.recurrent = fields.has("layer_types")
                    ? recurrent_by_types(fields, "layer_types", {"conv"}, c.layers)
                    : recurrent_but_listed(fields, "full_attn_idxs", c.layers);
  c.ffn = adjusted_width(fields, c.ffn);
}

/// Appends a layer of Nemotron-H, which has a single part. `kind` is M for a Mamba-2 part, * for
/// attention, - for a feed-forward network, and E for experts.
bool add_part(char kind, ModelConfig& c) {
  if (kind != 'M' && kind != '*' && kind != '-' && kind != 'E') return false;
  c.recurrent.push_back(kind == 'M' ? 1 : 0);
  c.attentive.push_back(kind == '*' ? 1 : 0);
  c.feeds.push_back(kind == 'E'   ? FeedKind::kExperts
                    : kind == '-' ? FeedKind::kNetwork
                                  : FeedKind::kNone);
  return true;
}

/// Returns the letter for a string in `layers_block_type`.
char letter_of(const json& type) {
  constexpr std::pair<const char*, char> kTypes[] = {{"mamba", 'M'},     {"linear_attention", 'M'},
                                                     {"attention", '*'}, {"full_attention", '*'},
                                                     {"mlp", '-'},       {"moe", 'E'}};
  for (const auto& [name, letter] : kTypes) {
    if (type == name) return letter;
  }
  return '?';
}

void read_single_parts(const ConfigFields& fields, ModelConfig& c) {
  const char* const key =
      fields.has("layers_block_type") ? "layers_block_type" : "hybrid_override_pattern";
  if (!fields.has(key)) user_error("{}: '{}' is missing", fields.file(), key);
  const json& all = fields.object().at(key);
  const std::string letters = all.is_string() ? all.get<std::string>() : "";
  const size_t count = all.is_array() ? all.size() : letters.size();
  if (count != static_cast<size_t>(c.layers)) {
    user_error("{}: '{}' does not list one type for each of {} layers", fields.file(), key,
               c.layers);
  }
  for (size_t l = 0; l < count; ++l) {
    if (add_part(all.is_array() ? letter_of(all[l]) : letters[l], c)) continue;
    user_error("{}: {}[{}]: {} is not supported", fields.file(), key, l,
               printable(all.is_array() ? all[l].dump() : letters.substr(l, 1)));
  }
  if (fields.has("moe_latent_size")) {
    user_error("{}: moe_latent_size is {}: experts of another width are not supported",
               fields.file(), fields.integer("moe_latent_size"));
  }
}

/// Sets the number of KV heads of layers without attention to that of the other layers.
void fill_kv_heads(ModelConfig& c) {
  const int most = *std::max_element(c.kv_heads.begin(), c.kv_heads.end());
  for (int& heads : c.kv_heads) heads = heads == 0 ? most : heads;
}

void read_single_parts(const GgufKeys& keys, const Checkpoint& checkpoint, ModelConfig& c) {
  constexpr const char* kWidths = "feed_forward_length";
  const std::vector<uint64_t> widths = keys.per_layer(kWidths, c.layers);
  for (int l = 0; l < c.layers; ++l) {
    const bool attends = nth(c.kv_heads, l) != 0, feeds = nth(widths, l) != 0;
    const bool routes = checkpoint.find(fmt::format("blk.{}.ffn_gate_inp.weight", l)) != nullptr;
    add_part(feeds ? (routes ? 'E' : '-') : attends ? '*' : 'M', c);
    if (!feeds || nth(widths, l) == nth(widths, 0) || c.experts > 0) continue;
    if (nth(widths, l) != static_cast<uint64_t>(c.ffn)) {
      user_error("{}: {} differs between layers ({} and {}), which is not supported", keys.file(),
                 keys.key(kWidths), nth(widths, l), c.ffn);
    }
  }
  if (keys.size_or("moe_latent_size", 0) != 0) {
    user_error("{}: {} is {}: experts of another width are not supported", keys.file(),
               keys.key("moe_latent_size"), keys.size("moe_latent_size"));
  }
}

/// Throws UserError if RoPE rotates only a part of each head. In such GGUF files (Bamba), the
/// converter of llama.cpp has arranged the rows of whole heads in pairs, and the logits of
/// llama.cpp differ strongly from those of the original model.
void refuse_partial_rotation(const GgufKeys& keys, const ModelConfig& c) {
  if (c.rope.still || c.rope.rotary_dim == c.head_dim) return;
  user_error(
      "{}: {} is {}, but heads have {} elements: converters order the rows of such heads (Bamba) "
      "wrongly; use the Hugging Face folder",
      keys.file(), keys.key("rope.dimension_count"), c.rope.rotary_dim, c.head_dim);
}

float factor_of(const ConfigFields& fields, const char* key) {
  const double value = fields.real(key, 1);
  if (value > 0 && std::isfinite(value)) return static_cast<float>(value);
  user_error("{}: '{}' is {}, expected a positive number", fields.file(), key, value);
}

/// Returns the factors in a list, or ones if the key is missing.
std::vector<float> factors_of(const ConfigFields& fields, const char* key, size_t count) {
  std::vector<float> factors(count, 1);
  if (!fields.has(key)) return factors;
  const json& list = fields.object().at(key);
  const bool complete = list.is_array() && list.size() == count;
  for (size_t i = 0; i < count; ++i) {
    const double value = complete && list[i].is_number() ? list[i].get<double>() : 0;
    if (!(value > 0) || !std::isfinite(value)) {
      user_error("{}: '{}' is {}, expected {} positive numbers", fields.file(), key,
                 printable(list.dump()), count);
    }
    factors[i] = static_cast<float>(value);
  }
  return factors;
}

/// Reads the factors of Falcon-H1. Where ModelConfig has no such factor, it is combined with
/// another one, which is possible because the computation between them is linear.
void read_factors(const ConfigFields& fields, ModelConfig& c) {
  c.logit_scale = factor_of(fields, "lm_head_multiplier");
  const float attended = factor_of(fields, "attention_in_multiplier");
  c.attention_scale = attended * attended * factor_of(fields, "key_multiplier") /
                      std::sqrt(static_cast<float>(c.head_dim));
  c.attention_out_scale = attended * factor_of(fields, "attention_out_multiplier");
  const std::vector<float> network = factors_of(fields, "mlp_multipliers", 2);
  c.gating.slope = network[0];  // silu(m g) = m g sigmoid(m g)
  c.ffn_out_scale = network[0] * network[1];
  c.recurrent_out_scale = factor_of(fields, "ssm_out_multiplier");
  const std::vector<float> parts = factors_of(fields, "ssm_multipliers", 5);
  const float in = factor_of(fields, "ssm_in_multiplier");
  c.ssm.gate_scale = in * parts[0];
  c.ssm.x_scale = in * parts[1];
  c.ssm.b_scale = in * parts[2];
  c.ssm.c_scale = in * parts[3];
  c.ssm.step_scale = in * parts[4];
}

/// Sets the widths of Granite's shared expert, or of its feed-forward network if there are no
/// experts.
void set_shared_width(const ConfigFields& fields, ModelConfig& c) {
  constexpr const char* kShared = "shared_intermediate_size";
  (c.experts > 0 ? c.shared_ffn : c.ffn) = fields.integer(kShared);
  c.dense_ffn = 0;
  c.rope.still = fields.text("position_embedding_type", "") != "rope";
}

/// Reads the settings of Nemotron-H's experts, if a layer has experts.
void set_expert_layers(const ConfigFields& fields, ModelConfig& c) {
  c.rope.still = true;
  if (std::count(c.feeds.begin(), c.feeds.end(), FeedKind::kExperts) == 0) {
    c.ffn = c.dense_ffn;
    c.experts = c.experts_used = c.shared_ffn = 0;
    return;
  }
  if (c.experts == 0)
    user_error("{}: 'n_routed_experts' is 0, but layers have experts", fields.file());
  c.shared_ffn = fields.integer("moe_shared_expert_intermediate_size");
}

}  // namespace

void use_usual_keys(json& config) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"norm_eps", "rms_norm_eps"},          {"layer_norm_epsilon", "rms_norm_eps"},
      {"block_ff_dim", "intermediate_size"}, {"tie_embedding", "tie_word_embeddings"},
      {"mlp_hidden_act", "hidden_act"},      {"attention_head_dim", "head_dim"}};
  for (const auto& [own, usual] : kNames) {
    if (config.contains(own)) config[usual] = config[own];
  }
  const auto types = config.find("layers_block_type");
  if (types != config.end() && types->is_array() && !config.contains("num_hidden_layers")) {
    config["num_hidden_layers"] = types->size();
  }
}

void read_hybrid(const ConfigFields& fields, Hybrid hybrid, ModelConfig& c) {
  if (hybrid == Hybrid::kConvolution) return read_convolution(fields, c);
  const auto layers = static_cast<size_t>(c.layers);
  const bool listed = fields.has("layer_types"), by_types = fields.has("layers_block_type");
  if (hybrid == Hybrid::kAlone) {
    read_single_parts(fields, c);
  } else if (hybrid == Hybrid::kBeside) {
    c.recurrent.assign(layers, 1);
    c.attentive.assign(layers, 1);
  } else if (listed || by_types) {
    c.recurrent = recurrent_by_types(fields, listed ? "layer_types" : "layers_block_type",
                                     {"mamba", "linear_attention"}, c.layers);
  } else {
    c.recurrent = recurrent_but_listed(fields, "attn_layer_indices", c.layers);
  }
  if (c.recurrent_layers() > 0) return read_ssm(fields, hybrid, c);
  c.recurrent.clear();  // a Granite 4 model without Mamba-2 layers
}

void read_hybrid(const GgufKeys& keys, const Checkpoint& checkpoint, Hybrid hybrid,
                 ModelConfig& c) {
  if (hybrid == Hybrid::kAlone) {
    read_single_parts(keys, checkpoint, c);
    c.rope.still = true;
  } else {
    const bool both = hybrid == Hybrid::kBeside;
    for (const int heads : c.kv_heads) c.recurrent.push_back(both || heads == 0 ? 1 : 0);
    if (both) c.attentive.assign(c.recurrent.size(), 1);
  }
  if (c.attention_layers() > 0) fill_kv_heads(c);
  if (hybrid == Hybrid::kMamba) {
    c.rope.still = !keys.data().find_bool(keys.key("rope.scaling.finetuned")).value_or(true);
    refuse_partial_rotation(keys, c);
  }
  if (hybrid != Hybrid::kConvolution) return read_ssm(keys, checkpoint, c);
  constexpr const char* kKernel = "shortconv.l_cache";
  c.convolution = {c.hidden, keys.size(kKernel)};
  check_convolution(keys.file(), keys.key(kKernel), c);
}

void finish_hybrid(const ConfigFields& fields, Hybrid hybrid, ModelConfig& c) {
  if (hybrid == Hybrid::kConvolution) c.choice_bias = fields.flag("use_expert_bias", true);
  if (hybrid == Hybrid::kBeside) read_factors(fields, c);
  if (hybrid == Hybrid::kAlone) set_expert_layers(fields, c);
  if (hybrid == Hybrid::kMamba && fields.has("shared_intermediate_size"))
    set_shared_width(fields, c);
}

}  // namespace longhaul
