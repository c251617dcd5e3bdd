// Hugging Face's config.json to ModelConfig: llama, mistral, qwen2, qwen3, phi3.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "format/checkpoint.h"
#include "model/config.h"
#include "model/config_hf_rope.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::json;

class Reader {
 public:
  explicit Reader(const Checkpoint& checkpoint) : fields_(checkpoint.hf()), file_(fields_.file()) {}

  ModelConfig read() {
    ModelConfig c;
    c.architecture = fields_.text("model_type", "");
    check_supported(c.architecture);
    c.layers = fields_.integer("num_hidden_layers");
    c.hidden = fields_.integer("hidden_size");
    c.ffn = fields_.integer("intermediate_size");
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
    c.norm_eps = static_cast<float>(fields_.real("rms_norm_eps", 1e-6));
    c.trained_context = fields_.integer("max_position_embeddings");
    c.qkv_bias = has_qkv_bias(c.architecture);
    c.own_head =
        fields_.has("tie_word_embeddings") && fields_.object().at("tie_word_embeddings") == false;
    c.window = windows(c);
    c.rope = read_hf_rope(fields_, c.head_dim, c.trained_context);
    return c;
  }

 private:
  bool has_qkv_bias(const std::string& family) const {
    if (family == "qwen2") return true;  // whatever the file says
    return (family == "llama" || family == "qwen3") && fields_.flag("attention_bias");
  }

  void check_supported(const std::string& family) const {
    constexpr std::string_view kKnown[] = {"llama", "mistral", "qwen2", "qwen3", "phi3"};
    if (std::find(std::begin(kKnown), std::end(kKnown), family) == std::end(kKnown)) {
      user_error("{}: model_type is {}; supported: llama, mistral, qwen2, qwen3, phi3", file_,
                 printable(family));
    }
    const std::string activation = fields_.text("hidden_act", "silu");
    if (activation != "silu" && activation != "swish") {
      user_error("{}: hidden_act is {}; supported: silu", file_, printable(activation));
    }
    if (fields_.flag("mlp_bias")) user_error("{}: mlp_bias is true, which is not supported", file_);
    if (fields_.has("quantization_config")) {
      user_error(
          "{}: quantization_config: quantized safetensors are not supported; use a GGUF file",
          file_);
    }
  }

  /// Which layers see only a sliding window: a list of layer types where the file has one, else
  /// the family's rule.
  std::vector<int64_t> windows(const ModelConfig& c) const {
    std::vector<int64_t> windows(static_cast<size_t>(c.layers), 0);
    if (!fields_.has("sliding_window")) return windows;
    const int64_t width = fields_.integer("sliding_window");
    if (c.architecture == "llama") {
      user_error("{}: sliding_window is {}, which model_type llama does not have (mistral has)",
                 file_, width);
    }
    const bool qwen = c.architecture == "qwen2" || c.architecture == "qwen3";
    if (qwen && !fields_.flag("use_sliding_window")) return windows;
    if (fields_.has("layer_types")) {
      const json& types = fields_.object().at("layer_types");
      if (!types.is_array() || types.size() != windows.size()) {
        user_error("{}: 'layer_types' does not list one type for each of {} layers", file_,
                   c.layers);
      }
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
    const int first =
        qwen && fields_.has("max_window_layers") ? fields_.integer("max_window_layers") : 0;
    for (int l = first; l < c.layers; ++l) windows[static_cast<size_t>(l)] = width;
    return windows;
  }

  ConfigFields fields_;
  const std::string& file_;
};

}  // namespace

ModelConfig read_hf_config(const Checkpoint& checkpoint) { return Reader(checkpoint).read(); }

}  // namespace longhaul
