// Converts Hugging Face's config.json to ModelConfig.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/config.h"
#include "model/config_hf_rope.h"
#include "model/hybrid_config.h"
#include "model/latent_config.h"
#include "model/layer_kinds.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::json;

class HfReader {
 public:
  explicit HfReader(const Checkpoint& checkpoint)
      : family_(family_of(ConfigFields(checkpoint.hf()))),
        config_(json::parse(family_.hf_usual)),
        fields_(ConfigFields(checkpoint.hf()).file(), config_),
        file_(fields_.file()) {
    const json& own = checkpoint.hf().config;
    // There are several keys for the number of experts. If the file has one of them, the family's
    // defaults of all of them are removed.
    constexpr const char* kCounts[] = {"num_experts", "num_local_experts", "n_routed_experts"};
    if (std::any_of(std::begin(kCounts), std::end(kCounts),
                    [&](const char* key) { return own.contains(key); })) {
      for (const char* key : kCounts) config_.erase(key);
    }
    const json usual_rope = config_.value("rope_parameters", json());
    config_.update(own);
    if (config_.contains("rope_parameters") && config_["rope_parameters"].is_null()) {
      config_["rope_parameters"] = usual_rope;
    }
    for (const char* key : {"moe_topk", "moe_intermediate_size", "num_shared_expert"}) {
      take_equal_values(key);
    }
    const json names = json::parse(family_.hf_names);
    for (const auto& [name, usual] : names.items()) {
      if (config_.contains(name)) config_[usual.get<std::string>()] = config_[name];
    }
    if (family_.hybrid != Hybrid::kNone) use_usual_keys(config_);
  }

  ModelConfig read() {
    refuse_other_models();
    ModelConfig c = config_of(family_, CheckpointFormat::kHuggingFace);
    c.architecture = fields_.text("model_type", "");
    c.layers = fields_.integer("num_hidden_layers");
    c.hidden = fields_.integer("hidden_size");
    const bool of_experts = all_have_experts() && !fields_.has("intermediate_size");
    c.ffn = fields_.integer(of_experts ? "moe_intermediate_size" : "intermediate_size");
    c.vocab = fields_.integer("vocab_size");
    c.heads = fields_.integer("num_attention_heads");
    const int kv =
        fields_.has("num_key_value_heads") ? fields_.integer("num_key_value_heads") : c.heads;
    if (c.layers < 1 || c.layers > 1024) user_error("{}: num_hidden_layers is {}", file_, c.layers);
    c.kv_heads.assign(static_cast<size_t>(c.layers), kv);
    if (fields_.has("head_dim")) {
      c.head_dim = fields_.integer("head_dim");
    } else {
      c.head_dim = c.heads > 0 ? c.hidden / c.heads : 0;
    }
    if (fields_.has("rotary_dim") && !fields_.has("partial_rotary_factor") && c.head_dim > 0) {
      config_["partial_rotary_factor"] = double(fields_.integer("rotary_dim")) / c.head_dim;
    }
    c.norm_eps = static_cast<float>(c.mean_norms ? fields_.real("layer_norm_eps", 1e-5)
                                                 : fields_.real("rms_norm_eps", 1e-6));
    c.trained_context = fields_.integer("max_position_embeddings");
    c.qkv_bias = c.qkv_bias || fields_.flag("attention_bias");
    if (family_.qk_norm_flag && !fields_.flag("use_qk_norm")) c.qk_norm = QkNorm::kNone;
    c.own_head =
        fields_.has("tie_word_embeddings") && fields_.object().at("tie_word_embeddings") == false;
    if (family_.latent) read_latent(fields_, c);
    if (family_.recurrent_but_every > 0) read_recurrent(c);
    if (family_.hybrid != Hybrid::kNone) read_hybrid(fields_, family_.hybrid, c);
    if (family_.still_every > 0) c.other_angles = still_layers(c.layers);
    c.window = family_.chunks ? chunks(c) : windows(c);
    if (family_.layer_kinds) {
      // The last layer has no window, whatever layer_types contains (as in transformers).
      c.window.back() = 0;
      read_layer_kinds(fields_, c);
    }
    read_experts(c);
    read_scales(c);
    read_angles(c);
    if (family_.hybrid != Hybrid::kNone) finish_hybrid(fields_, family_.hybrid, c);
    return c;
  }

 private:
  static const Family& family_of(const ConfigFields& fields) {
    const std::string name = fields.text("model_type", "");
    const Family* family = find_family(CheckpointFormat::kHuggingFace, name);
    if (family == nullptr) {
      user_error("{}: model_type is {}; supported: {}", fields.file(), printable(name),
                 family_names(CheckpointFormat::kHuggingFace));
    }
    return *family;
  }

  /// If the value of `key` is a list with equal numbers for all layers, replaces the list by this
  /// number.
  void take_equal_values(const char* key) {
    const auto found = config_.find(key);
    if (found == config_.end() || !found->is_array() || found->empty()) return;
    const json list = *found;
    for (const json& value : list) {
      if (value == list.front()) continue;
      user_error("{}: {} differs between layers ({} and {}), which is not supported", file_, key,
                 printable(list.front().dump()), printable(value.dump()));
    }
    config_[key] = list.front();
  }

  /// Returns whether all layers have experts, so that the file need not contain the width of other
  /// networks.
  bool all_have_experts() const {
    return family_.shared_gate ||
           (family_.shared_experts && integer_or("first_k_dense_replace", 0) == 0);
  }

  bool has_mxfp4_experts() const {
    const json& how = fields_.object().at("quantization_config");
    return family_.hf_experts == ExpertOrder::kWovenColumns && how.is_object() &&
           how.value("quant_method", json()) == "mxfp4";
  }

  void refuse_other_models() const {
    const char* const usual = family_.gating == kGeluGating              ? "gelu_pytorch_tanh"
                              : family_.ungated == Ungated::kSquaredRelu ? "relu2"
                              : family_.ungated == Ungated::kXielu       ? "xielu"
                                                                         : "silu";
    const char* key = fields_.has("hidden_activation") ? "hidden_activation" : "hidden_act";
    std::string activation = fields_.text(key, usual);
    if (activation == "swish") activation = "silu";
    if (activation != usual) {
      user_error("{}: {} is {}; supported: {}", file_, key, printable(activation), usual);
    }
    for (const char* bias : {"use_bias", "mlp_bias", "bias"}) {
      if (fields_.flag(bias)) user_error("{}: {} is true, which is not supported", file_, bias);
    }
    if (fields_.has("quantization_config") && !has_mxfp4_experts()) {
      user_error(
          "{}: quantization_config: quantized safetensors are not supported; use a GGUF file",
          file_);
    }
  }

  void read_experts(ModelConfig& c) const {
    if (!family_.experts) return;
    if (family_.experts_apart && !fields_.flag("enable_moe_block")) return;
    const char* count = fields_.has("n_routed_experts") ? "n_routed_experts"
                        : fields_.has("num_experts")    ? "num_experts"
                                                        : "num_local_experts";
    if (!fields_.has(count) && !family_.experts_apart) return;
    c.experts = fields_.integer(count);
    if (c.experts == 0 && family_.experts_apart) {
      user_error("{}: {} is 0, but enable_moe_block is true", file_, count);
    }
    if (c.experts == 0 && family_.shared_experts && family_.hybrid == Hybrid::kNone) {
      user_error("{}: '{}' is 0, expected at least 1", file_, count);
    }
    c.experts_used =
        fields_.integer(family_.experts_apart ? "top_k_experts" : "num_experts_per_tok");
    c.dense_ffn = c.ffn;
    if (fields_.has("moe_intermediate_size")) c.ffn = fields_.integer("moe_intermediate_size");
    if (family_.shared_experts) read_shared_experts(c);
    c.norm_topk_prob = fields_.flag("norm_topk_prob", family_.hf_norm_topk_prob);
    if (family_.expert_steps) read_expert_steps(c);
    if (integer_or("moe_layer_interval", 1) != 1) refuse_uneven("moe_layer_interval");
    const double end = fields_.real("moe_layer_end_index", -1);
    if (end >= 0 && end < c.layers - 1) refuse_uneven("moe_layer_end_index");
    const bool every = integer_or("decoder_sparse_step", 1) == 1;
    const bool some =
        fields_.has("mlp_only_layers") && !fields_.object().at("mlp_only_layers").empty();
    if (!every || some) refuse_uneven(every ? "mlp_only_layers" : "decoder_sparse_step");
  }

  /// Reads which layers have experts. If `moe_layers` exists, it lists them; they must be every
  /// n-th layer.
  void read_expert_steps(ModelConfig& c) const {
    constexpr const char* kStep = "interleave_moe_layer_step";
    constexpr const char* kList = "moe_layers";
    c.expert_step = integer_or(kStep, 1);
    if (c.expert_step < 1 || c.expert_step > c.layers) {
      user_error("{}: '{}' is {}, expected 1 to {} layers", file_, kStep, c.expert_step, c.layers);
    }
    if (!fields_.has(kList)) return;
    json expected = json::array();
    for (int l = c.expert_step - 1; l < c.layers; l += c.expert_step) expected.push_back(l);
    if (fields_.object().at(kList) != expected) refuse_uneven(kList);
  }

  [[noreturn]] void refuse_uneven(const char* key) const {
    user_error("{}: {}: layers without experts among those with them are not supported", file_,
               key);
  }

  int integer_or(const char* key, int fallback) const {
    return fields_.has(key) ? fields_.integer(key) : fallback;
  }

  void read_recurrent(ModelConfig& c) const {
    c.delta.key_heads = fields_.integer("linear_num_key_heads");
    c.delta.value_heads = fields_.integer("linear_num_value_heads");
    c.delta.key_dim = fields_.integer("linear_key_head_dim");
    c.delta.value_dim = fields_.integer("linear_value_head_dim");
    c.delta.kernel = fields_.integer("linear_conv_kernel_dim");
    constexpr const char* kEvery = "full_attention_interval";
    if (!fields_.has("layer_types")) {
      const int every = integer_or(kEvery, family_.recurrent_but_every);
      if (every < 1) user_error("{}: '{}' is {}, expected at least 1", file_, kEvery, every);
      c.recurrent = recurrent_but_every(every, c.layers);
      return;
    }
    const json& types = layer_types(c.layers);
    for (size_t l = 0; l < types.size(); ++l) {
      const bool recurrent = types[l] == "linear_attention";
      if (!recurrent && types[l] != "full_attention") {
        user_error(
            "{}: layer_types[{}]: {} is not supported, only full_attention and "
            "linear_attention are",
            file_, l, printable(types[l].dump()));
      }
      c.recurrent.push_back(recurrent ? 1 : 0);
    }
  }

  const json& layer_types(int layers) const {
    const json& types = fields_.object().at("layer_types");
    if (types.is_array() && types.size() == static_cast<size_t>(layers)) return types;
    user_error("{}: 'layer_types' does not list one type for each of {} layers", file_, layers);
  }

  void read_shared_experts(ModelConfig& c) const {
    if (family_.shared_gate) {
      c.shared_ffn = fields_.integer("shared_expert_intermediate_size");
      return;
    }
    c.dense_layers = dense_layers(c.layers);
    c.shared_ffn = std::min(c.ffn, 1 << 20) * std::min(integer_or("n_shared_experts", 0), 1024);
    c.expert_scale = static_cast<float>(fields_.real("routed_scaling_factor", 1));
    const int further = integer_or("num_mtp_layers", 0);
    c.left_out_layers = std::min(integer_or("num_nextn_predict_layers", further), 1024);
    if (family_.expert_groups) return read_expert_groups(c);
    for (const char* key : {"n_group", "topk_group"}) {
      if (integer_or(key, 1) == 1) continue;
      user_error("{}: {} is {}: groups of experts are not supported", file_, key,
                 fields_.integer(key));
    }
  }

  /// Returns the number of first layers without experts. A list of kinds of layers takes precedence
  /// over a number.
  int dense_layers(int layers) const {
    constexpr const char* kKinds = "mlp_layer_types";
    if (!fields_.has(kKinds)) return integer_or("first_k_dense_replace", 0);
    const json& kinds = fields_.object().at(kKinds);
    const bool complete = kinds.is_array() && kinds.size() == static_cast<size_t>(layers);
    int dense = 0;
    while (complete && dense < layers && kinds[static_cast<size_t>(dense)] == "dense") ++dense;
    for (int l = 0; l < layers; ++l) {
      if (complete && (l < dense || kinds[static_cast<size_t>(l)] == "sparse")) continue;
      user_error("{}: '{}' does not list dense layers, then sparse ones, {} in all", file_, kKinds,
                 layers);
    }
    return dense;
  }

  void read_expert_groups(ModelConfig& c) const {
    const std::string method = fields_.text("topk_method", "");
    if (method == "greedy") return;
    c.expert_groups = integer_or("n_group", 1);
    c.groups_used = integer_or("topk_group", c.expert_groups);
    c.best_of_group = method == "group_limited_greedy";
  }

  float positive(const char* key, double fallback) const {
    const double value = fields_.real(key, fallback);
    if (value > 0 && std::isfinite(value)) return static_cast<float>(value);
    user_error("{}: '{}' is {}, expected a positive number", file_, key, value);
  }
  /// Returns the soft cap `key`: 0 if the value is null, and `usual` if the key is missing.
  float cap(const char* key, float usual) const {
    if (!fields_.object().contains(key)) return usual;
    return fields_.has(key) ? positive(key, 1) : 0;
  }

  void read_scales(ModelConfig& c) const {
    if (family_.embedding_by_size) c.embedding_scale = std::sqrt(static_cast<float>(c.hidden));
    if (family_.query_scale) {
      c.attention_scale = 1 / std::sqrt(positive("query_pre_attn_scalar", c.head_dim));
    }
    if (family_.multipliers) {
      c.embedding_scale = positive("embedding_multiplier", 1);
      c.residual_scale = positive("residual_multiplier", 1);
      c.attention_scale = positive("attention_multiplier", 1);
      c.logit_scale = 1 / positive("logits_scaling", 1);
    }
    if (family_.unit_scale) c.attention_scale = 1;
    if (family_.logit_factor) c.logit_scale = positive("logit_scale", 0.0625);
    if (family_.caps) {
      c.attention_cap = cap("attn_logit_softcapping", family_.attention_cap);
      c.logit_cap = cap("final_logit_softcapping", family_.logit_cap);
    }
  }

  void read_angles(ModelConfig& c) const {
    const HfRope rope(fields_, family_.window_rope_base > 0, family_.rope_alpha);
    int head_dim = c.head_dim;  // head dimension of layers without a window
    for (int l = 0; l < c.layers; ++l) {
      if (c.window[static_cast<size_t>(l)] == 0) head_dim = c.dim_of(l);
    }
    c.rope = rope.read(head_dim, c.trained_context);
    if (family_.latent) {
      c.rope.rotary_dim = c.latent.rope;
      set_latent_scale(rope.all_dims(), c);
    }
    c.temperature_scale = static_cast<float>(rope.temperature());
    if (c.temperature_scale != 0 && !family_.temperature) {
      user_error("{}: rope scaling: llama_4_scaling_beta is not supported", file_);
    }
    std::optional<double> window_base = rope.window_base();
    if (!window_base && family_.local_base_key && fields_.has("rope_local_base_freq")) {
      window_base = fields_.real("rope_local_base_freq", 0);
    }
    set_layers_that_differ(family_, window_base, fields_.has("sliding_window"), c);
  }

  /// Returns 1 for each layer without RoPE. The key `no_rope_layers` holds a 1 for layers with
  /// RoPE. Without the key, every n-th layer has no RoPE.
  std::vector<uint8_t> still_layers(int layers) const {
    if (!fields_.has("no_rope_layers")) return every_so_many(layers);
    const json& flags = fields_.object().at("no_rope_layers");
    if (family_.chunks && flags.empty()) return every_so_many(layers);
    std::vector<uint8_t> still;
    if (flags.is_array() && flags.size() == static_cast<size_t>(layers)) {
      for (const json& flag : flags) {
        if (flag == 0 || flag == 1) still.push_back(flag == 0 ? 1 : 0);
      }
    }
    if (still.size() == static_cast<size_t>(layers)) return still;
    user_error("{}: 'no_rope_layers' does not list 0 or 1 for each of {} layers", file_, layers);
  }

  std::vector<uint8_t> every_so_many(int layers) const {
    constexpr const char* kKey = "no_rope_layer_interval";
    const int every = fields_.has(kKey) ? fields_.integer(kKey) : family_.still_every;
    if (every < 1) user_error("{}: '{}' is {}, expected at least 1", file_, kKey, every);
    std::vector<uint8_t> still(static_cast<size_t>(layers), 0);
    for (auto l = static_cast<size_t>(every) - 1; l < still.size(); l += static_cast<size_t>(every))
      still[l] = 1;
    return still;
  }

  /// Returns the sliding window of each layer, or 0. Layers with a window are those in a list of
  /// layer types if the file has one, or else those of the family's rule.
  std::vector<int64_t> windows(const ModelConfig& c) const {
    std::vector<int64_t> windows(static_cast<size_t>(c.layers), 0);
    if (!fields_.has("sliding_window")) return windows;
    const int64_t width = fields_.integer("sliding_window");
    if (!family_.windows) {
      user_error("{}: sliding_window is {}, which model_type {} does not have", file_, width,
                 c.architecture);
    }
    if (family_.window_flag && !fields_.flag("use_sliding_window")) return windows;
    if (fields_.has("layer_types")) {
      const json& types = layer_types(c.layers);
      for (size_t l = 0; l < windows.size(); ++l) {
        if (types[l] == "sliding_attention") {
          windows[l] = width;
        } else if (types[l] != "full_attention") {
          user_error(
              "{}: layer_types[{}]: {} is not supported, only full_attention and "
              "sliding_attention are",
              file_, l, printable(types[l].dump()));
        }
      }
      return windows;
    }
    if (family_.full_every > 0) {
      constexpr const char* pattern = "sliding_window_pattern";
      const int every = fields_.has(pattern) ? fields_.integer(pattern) : family_.full_every;
      return windows_but_every(every, width, c.layers);
    }
    const bool some = family_.window_layers && fields_.has("max_window_layers");
    const auto first = static_cast<size_t>(some ? fields_.integer("max_window_layers") : 0);
    for (size_t l = first; l < windows.size(); ++l) {
      if (!family_.still_windows || c.other_angles[l] == 1) windows[l] = width;
    }
    return windows;
  }

  /// Returns the chunk length of each layer of Llama 4, and 0 for layers without RoPE. In layers
  /// with RoPE, tokens see only tokens of their own chunk. In the other layers they see all earlier
  /// tokens, and queries grow with their position.
  std::vector<int64_t> chunks(ModelConfig& c) const {
    constexpr const char* kSize = "attention_chunk_size";
    c.plain_qk_norm = fields_.flag("use_qk_norm", true);
    if (!c.plain_qk_norm) c.qk_norm = QkNorm::kNone;
    if (is_true("attn_temperature_tuning")) {
      c.still_growth = {fields_.integer("floor_scale"),
                        static_cast<float>(positive("attn_scale", 0.1))};
      if (c.still_growth.length < 1) user_error("{}: 'floor_scale' is 0", file_);
    }
    std::vector<int64_t> chunks(static_cast<size_t>(c.layers), 0);
    c.chunked = fields_.has(kSize);
    if (!c.chunked) return chunks;
    const int64_t size = fields_.integer(kSize);
    if (size < 1) user_error("{}: '{}' is {}, expected at least 1", file_, kSize, size);
    const bool listed = fields_.has("layer_types");
    for (size_t l = 0; l < chunks.size(); ++l) {
      const json type = listed ? layer_types(c.layers)[l] : json();
      const bool chunk = listed ? type == "chunked_attention" : c.other_angles[l] == 0;
      if (listed && !chunk && type != "full_attention") {
        user_error(
            "{}: layer_types[{}]: {} is not supported, only full_attention and "
            "chunked_attention are",
            file_, l, printable(type.dump()));
      }
      if (chunk) chunks[l] = size;
    }
    return chunks;
  }

  /// Returns whether a flag is true. Older files contain a number.
  bool is_true(const char* key) const {
    const json& object = fields_.object();
    return object.contains(key) &&
           (object.at(key) == true || (object.at(key).is_number() && object.at(key) != 0));
  }

  const Family& family_;
  json config_;  ///< the family's defaults, replaced by the values in the file
  ConfigFields fields_;
  const std::string& file_;
};

}  // namespace

ModelConfig read_hf_config(const Checkpoint& checkpoint) { return HfReader(checkpoint).read(); }

}  // namespace longhaul
