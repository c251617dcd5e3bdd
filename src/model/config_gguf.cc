// Converts GGUF metadata to ModelConfig. The GGUF specification defines the keys.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/config.h"
#include "model/config_gguf_keys.h"
#include "model/config_gguf_rope.h"
#include "model/hybrid_config.h"
#include "model/latent_config.h"
#include "model/layer_kinds.h"
#include "text/printable.h"

namespace longhaul {
namespace {

class Reader {
 public:
  explicit Reader(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), data_(checkpoint.gguf()), keys_(data_), family_(known_family()) {}

  ModelConfig read() {
    ModelConfig c = config_of(family_, CheckpointFormat::kGguf);
    c.architecture = keys_.architecture();
    c.layers = keys_.size("block_count");
    c.hidden = keys_.size("embedding_length");
    const bool of_experts = family_.shared_gate && !keys_.has("feed_forward_length");
    const char* const width = of_experts ? "expert_feed_forward_length" : "feed_forward_length";
    if (family_.layer_kinds) {
      c.dense_ffns = sizes(width, c.layers);
      c.ffn = *std::ranges::max_element(c.dense_ffns);
    } else if (family_.hybrid == Hybrid::kAlone) {
      // The width is 0 in layers without a feed-forward part.
      c.ffn = std::ranges::max(sizes(width, c.layers));
    } else {
      c.ffn = uniform(width, c.layers);
    }
    c.heads = uniform("attention.head_count", c.layers);
    c.kv_heads = kv_heads(c);
    c.vocab = vocab();
    if (!family_.latent) c.head_dim = head_dim(c);
    constexpr const char* kRmsEps = "attention.layer_norm_rms_epsilon";
    // Some files of Nemotron-H use the key of LayerNorm for the same epsilon.
    const bool other = c.mean_norms || (family_.hybrid == Hybrid::kAlone && !keys_.has(kRmsEps));
    c.norm_eps =
        static_cast<float>(data_.get_f64(key(other ? "attention.layer_norm_epsilon" : kRmsEps)));
    c.trained_context = keys_.size("context_length");
    if (family_.latent) read_latent(keys_, c);
    read_experts(c);
    read_scales(c);
    read_window(c);
    if (family_.chunks) set_chunks(c);
    if (family_.layer_kinds) read_layer_kinds(keys_, checkpoint_, c);
    read_gguf_rope(checkpoint_, keys_, c);
    c.rope.whole_pairs = family_.whole_yarn_pairs;
    if (family_.whole_attn_factor && c.rope.scaling == RopeScaling::kYarn) {
      if (c.rope.attention_multiplier != 1) c.rope.attention_factor = c.rope.attention_multiplier;
      c.rope.attention_multiplier = 1;
    }
    // The file contains a tenth of mscale_all_dim.
    if (family_.latent)
      set_latent_scale(10 * keys_.real("rope.scaling.yarn_log_multiplier").value_or(0), c);
    if (family_.temperature) {
      c.temperature_scale =
          static_cast<float>(keys_.real("attention.temperature_scale").value_or(0));
    }
    set_layers_that_differ(family_, keys_.real("rope.freq_base_swa"),
                           keys_.size_or("attention.sliding_window", 0) > 0, c);
    if (family_.recurrent_but_every > 0) read_recurrent(c);
    if (family_.hybrid != Hybrid::kNone) read_hybrid(keys_, checkpoint_, family_.hybrid, c);
    if (family_.shared_experts || family_.recurrent_but_every > 0) leave_out_layers(c);
    return c;
  }

 private:
  std::string key(std::string_view name) const { return keys_.key(name); }

  const Family& known_family() const {
    if (data_.find_string("general.type").value_or("model") == "adapter") {
      user_error("{}: an adapter, not a model: give it with --lora, its model with -m",
                 data_.file());
    }
    const Family* family = find_family(CheckpointFormat::kGguf, keys_.architecture());
    if (family == nullptr) {
      user_error("{}: general.architecture is {}; supported: {}", data_.file(),
                 printable(keys_.architecture()), family_names(CheckpointFormat::kGguf));
    }
    return *family;
  }

  void read_experts(ModelConfig& c) const {
    if (keys_.size_or("expert_count", 0) == 0) return;
    if (!family_.experts) {
      user_error("{}: {} is {}: experts of this architecture are not supported", data_.file(),
                 key("expert_count"), keys_.size("expert_count"));
    }
    c.experts = keys_.size("expert_count");
    c.experts_used = keys_.size("expert_used_count");
    constexpr const char* kGating = "expert_gating_func";
    constexpr int kSoftmax = 1, kSigmoid = 2;
    if (family_.latent) c.expert_sigmoid = keys_.size_or(kGating, usual_gating(c)) == kSigmoid;
    const int usual = c.expert_sigmoid ? kSigmoid : kSoftmax;
    const int gating = keys_.size_or(kGating, usual);
    if (gating != usual && gating != 0) {
      user_error("{}: {} is {}, which is not supported, only {} is", data_.file(), key(kGating),
                 gating, usual);
    }
    if (family_.latent) {
      const int first = keys_.size_or("leading_dense_block_count", 0);
      c.choice_bias = checkpoint_.find(fmt::format("blk.{}.exp_probs_b.bias", first)) != nullptr;
      c.expert_groups = keys_.size_or("expert_group_count", 1);
      c.groups_used = keys_.size_or("expert_group_used_count", c.expert_groups);
      // In DeepSeek-V2, the score of a group of experts is that of its best expert.
      c.best_of_group = family_.gguf == "deepseek2" && !c.expert_sigmoid;
    }
    c.dense_ffn = c.ffn;
    c.ffn = keys_.size_or("expert_feed_forward_length", c.ffn);
    if (family_.shared_experts) read_shared_experts(c);
  }

  /// Returns the number of the gating function for files without the key. As in llama.cpp,
  /// GLM-4.7-Flash has a sigmoid.
  static int usual_gating(const ModelConfig& c) {
    constexpr int kGlmTokens = 154880;
    return (c.layers == 47 || c.layers == 48) && c.vocab == kGlmTokens ? 2 : 1;
  }

  void read_recurrent(ModelConfig& c) const {
    c.delta.key_heads = keys_.size("ssm.group_count");
    c.delta.value_heads = keys_.size("ssm.time_step_rank");
    c.delta.key_dim = keys_.size("ssm.state_size");
    c.delta.kernel = keys_.size("ssm.conv_kernel");
    const int inner = keys_.size("ssm.inner_size");
    if (c.delta.value_heads > 0) c.delta.value_dim = inner / c.delta.value_heads;
    if (c.delta.value_dim * c.delta.value_heads != inner) {
      user_error("{}: {} is {}, which {} value heads cannot share evenly", data_.file(),
                 key("ssm.inner_size"), inner, c.delta.value_heads);
    }
    constexpr const char* kList = "attention.recurrent_layers";
    constexpr const char* kEvery = "full_attention_interval";
    if (const GgufEntry* list = data_.find(key(kList))) {
      c.recurrent = flags(kList, *list, c.layers);
      return;
    }
    const int every = keys_.size_or(kEvery, family_.recurrent_but_every);
    if (every < 1)
      user_error("{}: {} is {}, expected at least 1", data_.file(), key(kEvery), every);
    c.recurrent = recurrent_but_every(every, c.layers);
  }

  std::vector<uint8_t> flags(std::string_view name, const GgufEntry& list, int layers) const {
    const GgufArray& values = list.array;
    // The list may not contain the layers that predict several tokens ahead.
    const int listed = layers - std::min(keys_.size_or("nextn_predict_layers", 0), layers);
    if (list.type != GgufType::kArray || values.element != GgufType::kBool ||
        (values.count != static_cast<uint64_t>(layers) &&
         values.count != static_cast<uint64_t>(listed))) {
      user_error("{}: {} is not a flag for each of {} layers", data_.file(), key(name), layers);
    }
    std::vector<uint8_t> flags;
    for (const std::byte flag : values.bytes) flags.push_back(flag == std::byte{0} ? 0 : 1);
    flags.resize(static_cast<size_t>(layers), 0);
    return flags;
  }

  void read_shared_experts(ModelConfig& c) const {
    if (family_.shared_gate) {
      c.shared_ffn = keys_.size_or("expert_shared_feed_forward_length", c.ffn);
      return;
    }
    c.dense_layers = keys_.size_or("leading_dense_block_count", first_layer_with_experts(c.layers));
    c.shared_ffn =
        std::min(c.ffn, 1 << 20) *
        std::min(keys_.size_or("expert_shared_count", family_.gguf_shared_experts), 1024);
    c.shared_ffn = keys_.size_or("expert_shared_feed_forward_length", c.shared_ffn);
    c.expert_scale = keys_.positive_or("expert_weights_scale", 1);
    if (family_.expert_steps) read_expert_step(c);
    c.norm_topk_prob =
        data_.find_bool(key("expert_weights_norm")).value_or(family_.gguf_norm_topk_prob);
    if (family_.qk_norm_flag && checkpoint_.find("blk.0.attn_q_norm.weight") == nullptr) {
      c.qk_norm = QkNorm::kNone;
    }
  }

  void read_expert_step(ModelConfig& c) const {
    constexpr const char* kStep = "interleave_moe_layer_step";
    c.dense_layers = 0;
    c.expert_step = keys_.size(kStep);
    if (c.expert_step >= 1 && c.expert_step <= c.layers) return;
    user_error("{}: {} is {}, expected 1 to {} layers", data_.file(), key(kStep), c.expert_step,
               c.layers);
  }

  /// Sets values that are equal in all models of Llama 4 and are not in their GGUF files.
  void set_chunks(ModelConfig& c) const {
    // Number of experts of the only model without norms of queries and keys.
    constexpr int kMaverick = 128;
    constexpr int64_t kChunk = 8192;
    constexpr const char* kWindow = "attention.sliding_window";
    if (keys_.has(kWindow) && keys_.size(kWindow) == 0) {
      user_error("{}: {} is 0: attention without chunks is not supported", data_.file(),
                 key(kWindow));
    }
    c.plain_qk_norm = c.experts != kMaverick;
    if (!c.plain_qk_norm) c.qk_norm = QkNorm::kNone;
    c.chunked = true;
    c.window = windows_but_every(family_.still_every, kChunk, c.layers);
    c.still_growth = {kChunk, 0.1f};
  }

  int first_layer_with_experts(int layers) const {
    if (family_.hybrid != Hybrid::kNone) return 0;
    int first = 0;
    while (first < layers &&
           checkpoint_.find(fmt::format("blk.{}.ffn_gate_inp.weight", first)) == nullptr) {
      ++first;
    }
    return first == layers ? 0 : first;
  }

  /// Removes the last layers from `c`, which predict several tokens ahead. block_count includes
  /// them.
  void leave_out_layers(ModelConfig& c) const {
    c.left_out_layers = std::min(keys_.size_or("nextn_predict_layers", 0), c.layers);
    c.layers -= c.left_out_layers;
    const auto layers = static_cast<size_t>(c.layers);
    c.kv_heads.resize(layers);
    c.window.resize(layers);
    if (!c.other_angles.empty()) c.other_angles.resize(layers);
    if (!c.recurrent.empty()) c.recurrent.resize(layers);
    if (!c.attentive.empty()) c.attentive.resize(layers);
    if (!c.feeds.empty()) c.feeds.resize(layers);
  }

  void read_scales(ModelConfig& c) const {
    if (family_.embedding_by_size) c.embedding_scale = std::sqrt(static_cast<float>(c.hidden));
    if (family_.query_scale && c.heads > 0 && c.head_dim > 0) {
      const bool wide = family_.gguf_wide_layers == c.layers;
      const auto size = static_cast<float>(wide ? c.hidden / c.heads : c.head_dim);
      c.attention_scale = keys_.positive_or("attention.scale", 1 / std::sqrt(size));
    }
    if (family_.multipliers) {
      c.embedding_scale = keys_.positive_or("embedding_scale", 1);
      c.residual_scale = keys_.positive_or("residual_scale", 1);
      c.logit_scale = 1 / keys_.positive_or("logit_scale", 1);
      c.attention_scale = keys_.positive_or("attention.scale", 0);
    }
    if (family_.unit_scale) c.attention_scale = 1;
    if (family_.logit_factor) c.logit_scale = keys_.positive_or("logit_scale", 1);
    if (family_.caps) {
      c.attention_cap = keys_.positive_or("attn_logit_softcapping", family_.attention_cap);
      c.logit_cap = keys_.positive_or("final_logit_softcapping", family_.logit_cap);
    }
  }

  /// Sets c.window. All layers with a window have the same width. These are all layers, or all
  /// except every n-th layer, or the layers that the file names. A list in the file takes
  /// precedence over the rule of the family.
  void read_window(ModelConfig& c) const {
    constexpr const char* kPattern = "attention.sliding_window_pattern";
    const int64_t width = keys_.size_or("attention.sliding_window", 0);
    const GgufEntry* pattern = data_.find(key(kPattern));
    if (pattern == nullptr && !family_.gguf_windows) {
      if (width > 0 && width < c.trained_context) {
        warn(
            "{}: {} is {}, which is left out as llama.cpp does: models of this architecture see "
            "everything",
            data_.file(), key("attention.sliding_window"), width);
      }
      c.window.assign(static_cast<size_t>(c.layers), 0);
      return;
    }
    if (pattern != nullptr && pattern->type == GgufType::kArray) {
      for (const uint8_t flag : flags(kPattern, *pattern, c.layers)) {
        c.window.push_back(flag == 0 ? 0 : width);
      }
      return;
    }
    const int every = pattern == nullptr ? family_.full_every : keys_.size(kPattern);
    c.window = windows_but_every(every, width, c.layers);
  }

  /// Returns a setting that may be a list but must be equal in all layers.
  int uniform(std::string_view name, int layers) const {
    const std::vector<uint64_t> values = keys_.per_layer(name, layers);
    for (const uint64_t v : values) {
      if (v != values[0]) {
        user_error("{}: {} differs between layers ({} and {}), which is not supported",
                   data_.file(), key(name), values[0], v);
      }
    }
    return keys_.to_int(name, values[0]);
  }

  std::vector<int> kv_heads(const ModelConfig& c) const {
    if (!data_.contains(key("attention.head_count_kv"))) {
      return std::vector<int>(static_cast<size_t>(c.layers), c.heads);
    }
    return sizes("attention.head_count_kv", c.layers);
  }

  /// Returns the size for each layer. The file has a list, or one size for all layers.
  std::vector<int> sizes(std::string_view name, int layers) const {
    std::vector<int> sizes;
    for (const uint64_t v : keys_.per_layer(name, layers)) sizes.push_back(keys_.to_int(name, v));
    return sizes;
  }

  int vocab() const {
    const auto rows = static_cast<int>(checkpoint_.get("token_embd.weight").rows());
    const int said = keys_.size_or("vocab_size", rows);
    if (said <= rows) return rows;
    user_error("{}: {} is {}, the embedding has {} rows", data_.file(), key("vocab_size"), said,
               rows);
  }

  int head_dim(const ModelConfig& c) const {
    const auto key_length = data_.find_u64(key("attention.key_length"));
    const auto value_length = data_.find_u64(key("attention.value_length"));
    if (key_length && value_length && *key_length != *value_length) {
      user_error("{}: {} is {} and {} is {}: different sizes are not supported", data_.file(),
                 key("attention.key_length"), *key_length, key("attention.value_length"),
                 *value_length);
    }
    if (key_length) return keys_.to_int("attention.key_length", *key_length);
    return c.heads > 0 ? c.hidden / c.heads : 0;
  }

  const Checkpoint& checkpoint_;
  const GgufMetadata& data_;
  const GgufKeys keys_;
  const Family& family_;
};

}  // namespace

ModelConfig read_gguf_config(const Checkpoint& checkpoint) { return Reader(checkpoint).read(); }

}  // namespace longhaul
