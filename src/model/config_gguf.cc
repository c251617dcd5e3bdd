// GGUF metadata to ModelConfig. Keys: the GGUF specification.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/config.h"
#include "ops/dequantize.h"
#include "text/printable.h"

namespace longhaul {
namespace {

class Reader {
 public:
  explicit Reader(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        data_(checkpoint.gguf()),
        architecture_(data_.get_string("general.architecture")) {}

  ModelConfig read() {
    check_architecture();
    ModelConfig c;
    c.architecture = architecture_;
    c.layers = size("block_count");
    c.hidden = size("embedding_length");
    c.ffn = uniform("feed_forward_length", c.layers);
    c.heads = uniform("attention.head_count", c.layers);
    c.kv_heads = kv_heads(c);
    c.vocab = static_cast<int>(checkpoint_.get("token_embd.weight").rows());
    c.head_dim = head_dim(c);
    c.norm_eps = static_cast<float>(data_.get_f64(key("attention.layer_norm_rms_epsilon")));
    c.trained_context = size("context_length");
    c.window.assign(static_cast<size_t>(c.layers), size_or("attention.sliding_window", 0));
    c.qkv_bias = architecture_ == "qwen2";
    c.interleaved_rope = architecture_ == "llama";
    read_rope(c);
    return c;
  }

 private:
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }

  int to_int(std::string_view name, uint64_t value) const {
    constexpr uint64_t kMost = 1 << 30;
    if (value > kMost)
      user_error("{}: {} is {}, more than {}", data_.file(), key(name), value, kMost);
    return static_cast<int>(value);
  }
  int size(std::string_view name) const { return to_int(name, data_.get_u64(key(name))); }
  int size_or(std::string_view name, int64_t fallback) const {
    return to_int(name, data_.find_u64(key(name)).value_or(static_cast<uint64_t>(fallback)));
  }

  void check_architecture() const {
    if (data_.find_string("general.type").value_or("model") == "adapter") {
      user_error("{}: an adapter, not a model: give it with --lora, its model with -m",
                 data_.file());
    }
    constexpr std::string_view kKnown[] = {"llama", "qwen2", "qwen3", "phi3"};
    if (std::find(std::begin(kKnown), std::end(kKnown), architecture_) == std::end(kKnown)) {
      user_error("{}: general.architecture is {}; supported: llama, qwen2, qwen3, phi3",
                 data_.file(), printable(architecture_));
    }
    if (data_.find_u64(key("expert_count")).value_or(0) > 0) {
      user_error("{}: {} is {}: mixtures of experts are not supported", data_.file(),
                 key("expert_count"), *data_.find_u64(key("expert_count")));
    }
  }

  std::vector<uint64_t> per_layer(std::string_view name, int layers) const {
    if (layers < 1 || layers > 1024)
      user_error("{}: {} is {}", data_.file(), key("block_count"), layers);
    const auto values = data_.find_u64_per_layer(key(name), static_cast<uint64_t>(layers));
    if (!values) data_.get_u64(key(name));  // throws: missing
    return *values;
  }

  /// A setting that may be an array but must be the same in every layer.
  int uniform(std::string_view name, int layers) const {
    const std::vector<uint64_t> values = per_layer(name, layers);
    for (const uint64_t v : values) {
      if (v != values[0]) {
        user_error("{}: {} differs between layers ({} and {}), which is not supported",
                   data_.file(), key(name), values[0], v);
      }
    }
    return to_int(name, values[0]);
  }

  std::vector<int> kv_heads(const ModelConfig& c) const {
    if (!data_.contains(key("attention.head_count_kv"))) {
      return std::vector<int>(static_cast<size_t>(c.layers), c.heads);
    }
    std::vector<int> heads;
    for (const uint64_t v : per_layer("attention.head_count_kv", c.layers)) {
      heads.push_back(to_int("attention.head_count_kv", v));
    }
    return heads;
  }

  int head_dim(const ModelConfig& c) const {
    const auto key_length = data_.find_u64(key("attention.key_length"));
    const auto value_length = data_.find_u64(key("attention.value_length"));
    if (key_length && value_length && *key_length != *value_length) {
      user_error("{}: {} is {} and {} is {}: different sizes are not supported", data_.file(),
                 key("attention.key_length"), *key_length, key("attention.value_length"),
                 *value_length);
    }
    if (key_length) return to_int("attention.key_length", *key_length);
    return c.heads > 0 ? c.hidden / c.heads : 0;
  }

  /// Empty where there is no such tensor.
  std::vector<float> factors(const char* name, ModelConfig& c) const {
    const TensorView* tensor = checkpoint_.find(name);
    if (tensor == nullptr) return {};
    c.rope_tensors.emplace_back(name);
    const int pairs = c.rope.rotary_dim / 2;
    if (tensor->elements() != pairs) {
      user_error("{}: tensor {} has {} elements, expected {}", data_.file(), name,
                 tensor->elements(), pairs);
    }
    std::vector<float> values(static_cast<size_t>(tensor->elements()));
    dequantize_row(tensor->type, tensor->data, tensor->elements(), values.data());
    for (const float v : values) {
      if (!(v > 0))
        user_error("{}: tensor {} holds {}, expected positive numbers", data_.file(), name, v);
    }
    return values;
  }

  void read_rope(ModelConfig& c) const {
    RopeSpec& r = c.rope;
    r.rotary_dim = size_or("rope.dimension_count", c.head_dim);
    r.base = data_.find_f64(key("rope.freq_base")).value_or(10000.0);
    r.factor = data_.find_f64(key("rope.scaling.factor"))
                   .value_or(data_.find_f64(key("rope.scale_linear")).value_or(1.0));
    r.original_context = size_or("rope.scaling.original_context_length", c.trained_context);
    const auto type = data_.find_string(key("rope.scaling.type")).value_or("linear");
    if (type == "yarn") {
      r.scaling = RopeScaling::kYarn;
      set_yarn(r);
    } else if (type == "linear") {
      r.scaling = r.factor != 1.0 ? RopeScaling::kLinear : RopeScaling::kNone;
    } else if (type != "none" && type != "longrope") {
      user_error("{}: {} is {}; supported: none, linear, yarn, longrope", data_.file(),
                 key("rope.scaling.type"), printable(type));
    }
    r.divisors = factors("rope_freqs.weight", c);
    r.long_factors = factors("rope_factors_long.weight", c);
    r.short_factors = factors("rope_factors_short.weight", c);
    if (r.long_factors.empty() != r.short_factors.empty()) {
      const bool has_long = r.short_factors.empty();
      user_error("{}: has tensor rope_factors_{}.weight but no rope_factors_{}.weight",
                 data_.file(), has_long ? "long" : "short", has_long ? "short" : "long");
    }
    if (!r.long_factors.empty()) {
      r.scaling = RopeScaling::kLongRope;
      r.factor = static_cast<double>(c.trained_context) / static_cast<double>(r.original_context);
    }
    set_attention_factor(r);
    refuse_unless(type == "yarn" ? 1.0 : 0.0, "rope.scaling.yarn_ext_factor");
    refuse_unless(0.0, "rope.scaling.yarn_log_multiplier");
    refuse_unless(0.0, "rope.scaling.alpha");
  }

  /// Converters write config.json's beta_fast, beta_slow and attention_factor here, so they mean
  /// what they mean there. (llama.cpp reads them for few architectures.)
  void set_yarn(RopeSpec& r) const {
    r.beta_fast = positive("rope.scaling.yarn_beta_fast").value_or(r.beta_fast);
    r.beta_slow = positive("rope.scaling.yarn_beta_slow").value_or(r.beta_slow);
    r.attention_factor = positive("rope.scaling.yarn_attn_factor").value_or(0.0);
  }

  std::optional<double> positive(std::string_view name) const {
    const auto value = data_.find_f64(key(name));
    if (value && (!(*value > 0) || !std::isfinite(*value))) {
      user_error("{}: {} is {}, expected a positive number", data_.file(), key(name), *value);
    }
    return value;
  }

  /// A setting of other architectures: where it is there, it must say what is done anyway. Negative
  /// numbers mean that it is not set.
  void refuse_unless(double usual, std::string_view name) const {
    const auto value = data_.find_f64(key(name));
    if (!value || *value == usual || *value < 0) return;
    user_error("{}: {} is {}: only {} is supported", data_.file(), key(name), *value, usual);
  }

  /// `attn_factor` multiplies what the scaling itself makes of the magnitude, as llama.cpp does.
  /// Only of longrope it is the whole: files hold the rule's result.
  void set_attention_factor(RopeSpec& r) const {
    const auto factor = positive("rope.scaling.attn_factor");
    if (!factor) return;
    (r.scaling == RopeScaling::kLongRope ? r.attention_factor : r.attention_multiplier) = *factor;
  }

  const Checkpoint& checkpoint_;
  const GgufMetadata& data_;
  std::string architecture_;
};

}  // namespace

ModelConfig read_gguf_config(const Checkpoint& checkpoint) { return Reader(checkpoint).read(); }

}  // namespace longhaul
