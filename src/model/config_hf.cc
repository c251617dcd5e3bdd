// Hugging Face's config.json to ModelConfig: llama, mistral, qwen2, qwen3, phi3.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/config.h"

namespace longhaul {
namespace {

using nlohmann::json;

class Reader {
 public:
  explicit Reader(const Checkpoint& checkpoint)
      : file_((checkpoint.hf().folder / "config.json").string()), json_(checkpoint.hf().config) {}

  ModelConfig read() {
    ModelConfig c;
    c.architecture = text(json_, "model_type", "");
    check_supported(c.architecture);
    c.layers = integer("num_hidden_layers");
    c.hidden = integer("hidden_size");
    c.ffn = integer("intermediate_size");
    c.vocab = integer("vocab_size");
    c.heads = integer("num_attention_heads");
    const int kv = has(json_, "num_key_value_heads") ? integer("num_key_value_heads") : c.heads;
    if (c.layers < 1 || c.layers > 1024) user_error("{}: num_hidden_layers is {}", file_, c.layers);
    c.kv_heads.assign(static_cast<size_t>(c.layers), kv);
    if (has(json_, "head_dim")) {
      c.head_dim = integer("head_dim");
    } else {
      c.head_dim = c.heads > 0 ? c.hidden / c.heads : 0;
    }
    c.norm_eps = static_cast<float>(real(json_, "rms_norm_eps", 1e-6));
    c.trained_context = integer("max_position_embeddings");
    c.qkv_bias = has_qkv_bias(c.architecture);
    c.own_head = has(json_, "tie_word_embeddings") && json_.at("tie_word_embeddings") == false;
    c.window = windows(c);
    c.rope = rope(c);
    return c;
  }

 private:
  static bool has(const json& object, const char* key) {
    return object.contains(key) && !object.at(key).is_null();
  }

  int integer(const char* key) const {
    if (!has(json_, key)) user_error("{}: '{}' is missing", file_, key);
    const json& value = json_.at(key);
    if (!value.is_number_integer()) {
      user_error("{}: '{}' is {}, expected an integer", file_, key, value.dump());
    }
    const auto n = value.get<int64_t>();
    if (n < 0 || n > (1 << 30)) user_error("{}: '{}' is {}", file_, key, n);
    return static_cast<int>(n);
  }

  double real(const json& object, const char* key, double fallback) const {
    if (!has(object, key)) return fallback;
    if (!object.at(key).is_number()) {
      user_error("{}: '{}' is {}, expected a number", file_, key, object.at(key).dump());
    }
    return object.at(key).get<double>();
  }

  std::string text(const json& object, const char* key, const char* fallback) const {
    if (!has(object, key)) return fallback;
    if (!object.at(key).is_string()) {
      user_error("{}: '{}' is {}, expected a string", file_, key, object.at(key).dump());
    }
    return object.at(key).get<std::string>();
  }

  bool flag(const char* key) const {
    return has(json_, key) && json_.at(key).is_boolean() && json_.at(key).get<bool>();
  }

  bool has_qkv_bias(const std::string& family) const {
    if (family == "qwen2") return true;  // whatever the file says
    return (family == "llama" || family == "qwen3") && flag("attention_bias");
  }

  void check_supported(const std::string& family) const {
    constexpr std::string_view kKnown[] = {"llama", "mistral", "qwen2", "qwen3", "phi3"};
    if (std::find(std::begin(kKnown), std::end(kKnown), family) == std::end(kKnown)) {
      user_error("{}: model_type is '{}'; supported: llama, mistral, qwen2, qwen3, phi3", file_,
                 family);
    }
    const std::string activation = text(json_, "hidden_act", "silu");
    if (activation != "silu" && activation != "swish") {
      user_error("{}: hidden_act is '{}'; supported: silu", file_, activation);
    }
    if (flag("mlp_bias")) user_error("{}: mlp_bias is true, which is not supported", file_);
    if (has(json_, "quantization_config")) {
      user_error(
          "{}: quantization_config: quantized safetensors are not supported; use a GGUF file",
          file_);
    }
  }

  /// Which layers see only a sliding window: a list of layer types where the file has one, else
  /// the family's rule.
  std::vector<int64_t> windows(const ModelConfig& c) const {
    std::vector<int64_t> windows(static_cast<size_t>(c.layers), 0);
    if (!has(json_, "sliding_window")) return windows;
    const int64_t width = integer("sliding_window");
    const bool qwen = c.architecture == "qwen2" || c.architecture == "qwen3";
    if (qwen && !flag("use_sliding_window")) return windows;
    if (has(json_, "layer_types")) {
      const json& types = json_.at("layer_types");
      if (!types.is_array() || types.size() != windows.size()) {
        user_error("{}: 'layer_types' does not list one type for each of {} layers", file_,
                   c.layers);
      }
      for (size_t l = 0; l < windows.size(); ++l) {
        if (types[l] == "sliding_attention") windows[l] = width;
      }
      return windows;
    }
    const int first = qwen && has(json_, "max_window_layers") ? integer("max_window_layers") : 0;
    for (int l = first; l < c.layers; ++l) windows[static_cast<size_t>(l)] = width;
    return windows;
  }

  std::vector<float> factors(const json& object, const char* key, size_t count) const {
    if (!has(object, key) || !object.at(key).is_array() || object.at(key).size() != count) {
      user_error("{}: rope scaling: '{}' is not a list of {} numbers", file_, key, count);
    }
    std::vector<float> values;
    for (const json& v : object.at(key)) {
      const double x = v.is_number() ? v.get<double>() : 0.0;
      if (!(x > 0)) user_error("{}: rope scaling: '{}' holds {}", file_, key, v.dump());
      values.push_back(static_cast<float>(x));
    }
    return values;
  }

  RopeSpec rope(const ModelConfig& c) const {
    // Newer files call it rope_parameters and keep the base in it.
    const json none = json::object();
    const json& scaling = has(json_, "rope_parameters") ? json_.at("rope_parameters")
                          : has(json_, "rope_scaling")  ? json_.at("rope_scaling")
                                                        : none;
    if (!scaling.is_object())
      user_error("{}: rope scaling is {}, expected an object", file_, scaling.dump());
    RopeSpec r;
    r.base = real(scaling, "rope_theta", real(json_, "rope_theta", 10000.0));
    const double partial =
        real(scaling, "partial_rotary_factor", real(json_, "partial_rotary_factor", 1.0));
    if (!(partial > 0 && partial <= 1)) {
      user_error("{}: 'partial_rotary_factor' is {}, outside 0..1", file_, partial);
    }
    r.rotary_dim = static_cast<int>(c.head_dim * partial);
    r.factor = real(scaling, "factor", 1.0);
    r.attention_factor = real(scaling, "attention_factor", 0.0);
    r.beta_fast = real(scaling, "beta_fast", 32.0);
    r.beta_slow = real(scaling, "beta_slow", 1.0);
    r.low_freq_factor = real(scaling, "low_freq_factor", 1.0);
    r.high_freq_factor = real(scaling, "high_freq_factor", 4.0);
    const double original = real(
        scaling, "original_max_position_embeddings",
        real(json_, "original_max_position_embeddings", static_cast<double>(c.trained_context)));
    if (!(original >= 0 && original <= 1 << 30)) {
      user_error("{}: 'original_max_position_embeddings' is {}", file_, original);
    }
    r.original_context = static_cast<int64_t>(original);
    const std::string type = text(scaling, "rope_type", text(scaling, "type", "default").c_str());
    set_scaling(type, scaling, c, r);
    return r;
  }

  void set_scaling(const std::string& type, const json& scaling, const ModelConfig& c,
                   RopeSpec& r) const {
    if (type == "linear") {
      r.scaling = RopeScaling::kLinear;
    } else if (type == "llama3") {
      r.scaling = RopeScaling::kLlama3;
    } else if (type == "yarn") {
      r.scaling = RopeScaling::kYarn;
    } else if (type == "dynamic") {
      r.scaling = RopeScaling::kDynamic;
    } else if (type == "longrope" || type == "su") {
      r.scaling = RopeScaling::kLongRope;
      const size_t half = static_cast<size_t>(r.rotary_dim / 2);
      r.short_factors = factors(scaling, "short_factor", half);
      r.long_factors = factors(scaling, "long_factor", half);
      if (!has(scaling, "factor") && r.original_context > 0) {
        r.factor = static_cast<double>(c.trained_context) / static_cast<double>(r.original_context);
      }
    } else if (type != "default") {
      user_error(
          "{}: rope scaling is '{}'; supported: default, linear, llama3, yarn, dynamic, "
          "longrope",
          file_, type);
    }
  }

  std::string file_;
  const json& json_;
};

}  // namespace

ModelConfig read_hf_config(const Checkpoint& checkpoint) { return Reader(checkpoint).read(); }

}  // namespace longhaul
