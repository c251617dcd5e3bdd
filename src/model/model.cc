#include "model/model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "format/checkpoint.h"
#include "ops/dequantize.h"

namespace longhaul {
namespace {

/// Where each role is found. `{}` stands for the layer.
struct TensorNames {
  const char *embedding, *head, *final_norm;
  const char *attention_norm, *ffn_norm;
  const char *q, *k, *v, *qkv, *output;  // without .weight / .bias
  const char *q_norm, *k_norm;
  const char *gate, *up, *gate_up, *down;
};

constexpr TensorNames kGguf = {"token_embd",         "output",
                               "output_norm",        "blk.{}.attn_norm",
                               "blk.{}.ffn_norm",    "blk.{}.attn_q",
                               "blk.{}.attn_k",      "blk.{}.attn_v",
                               "blk.{}.attn_qkv",    "blk.{}.attn_output",
                               "blk.{}.attn_q_norm", "blk.{}.attn_k_norm",
                               "blk.{}.ffn_gate",    "blk.{}.ffn_up",
                               "blk.{}.ffn_up",      "blk.{}.ffn_down"};

constexpr TensorNames kHuggingFace = {"model.embed_tokens",
                                      "lm_head",
                                      "model.norm",
                                      "model.layers.{}.input_layernorm",
                                      "model.layers.{}.post_attention_layernorm",
                                      "model.layers.{}.self_attn.q_proj",
                                      "model.layers.{}.self_attn.k_proj",
                                      "model.layers.{}.self_attn.v_proj",
                                      "model.layers.{}.self_attn.qkv_proj",
                                      "model.layers.{}.self_attn.o_proj",
                                      "model.layers.{}.self_attn.q_norm",
                                      "model.layers.{}.self_attn.k_norm",
                                      "model.layers.{}.mlp.gate_proj",
                                      "model.layers.{}.mlp.up_proj",
                                      "model.layers.{}.mlp.gate_up_proj",
                                      "model.layers.{}.mlp.down_proj"};

/// Where profiles of methods lie: in a model's folder, or beside its file and named after it.
std::string profile_prefix(const std::filesystem::path& model) {
  if (std::filesystem::is_directory(model)) return (model / "").string();
  return (model.parent_path() / model.stem()).string() + ".";
}

std::string shape_text(const TensorView& t) {
  std::string text = "[";
  for (int i = 0; i < t.rank; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(t.shape[static_cast<size_t>(i)]);
  }
  return text + "]";
}

class Loader {
 public:
  explicit Loader(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        names_(checkpoint.format() == CheckpointFormat::kGguf ? kGguf : kHuggingFace),
        file_(checkpoint.path().string()) {}

  Model load() {
    Model m;
    m.config = read_config(checkpoint_);
    config_ = &m.config;
    m.shape = m.config.shape();
    m.shape.profile_prefix = profile_prefix(checkpoint_.path());
    m.embedding = matrix(names_.embedding, m.config.vocab, m.config.hidden);
    const bool has_head = m.config.own_head || find(names_.head, ".weight") != nullptr;
    m.head = has_head ? matrix(names_.head, m.config.vocab, m.config.hidden) : m.embedding;
    m.final_norm = vector(names_.final_norm, ".weight", m.config.hidden);
    for (int l = 0; l < m.config.layers; ++l) m.layers.push_back(layer(l));
    return m;
  }

 private:
  std::string at(const char* name, int layer) const {
    return fmt::format(fmt::runtime(name), layer);
  }
  const TensorView* find(const std::string& name, const char* kind) const {
    return checkpoint_.find(name + kind);
  }

  TensorView matrix(const std::string& name, int64_t rows, int64_t cols) const {
    const TensorView& t = checkpoint_.get(name + ".weight");
    if (t.rank != 2 || t.shape[0] != rows || t.shape[1] != cols) {
      user_error("{}: tensor {}.weight has shape {}, expected [{}, {}]", file_, name, shape_text(t),
                 rows, cols);
    }
    return t;
  }

  std::vector<float> vector(const std::string& name, const char* kind, int64_t size) const {
    const TensorView& t = checkpoint_.get(name + kind);
    if (t.elements() != size || t.rank != 1) {
      user_error("{}: tensor {}{} has shape {}, expected [{}]", file_, name, kind, shape_text(t),
                 size);
    }
    std::vector<float> values(static_cast<size_t>(size));
    dequantize_row(t.type, t.data, size, values.data());
    return values;
  }

  /// A bias that may be missing where the configuration does not promise it.
  std::vector<float> bias(const std::string& name, int64_t size) const {
    if (!config_->qkv_bias && find(name, ".bias") == nullptr) return {};
    return vector(name, ".bias", size);
  }

  void refuse_bias(const std::string& name) const {
    if (find(name, ".bias") != nullptr) {
      user_error("{}: tensor {}.bias: a bias is not supported there", file_, name);
    }
  }

  LayerWeights layer(int l) const {
    const ModelConfig& c = *config_;
    LayerWeights w;
    w.attention_norm = vector(at(names_.attention_norm, l), ".weight", c.hidden);
    w.ffn_norm = vector(at(names_.ffn_norm, l), ".weight", c.hidden);
    const int64_t q_rows = int64_t{c.heads} * c.head_dim;
    const int64_t kv_rows = int64_t{c.kv_heads[static_cast<size_t>(l)]} * c.head_dim;
    load_projections(l, q_rows, kv_rows, w);
    if (c.architecture == "qwen3") {
      w.q_norm = vector(at(names_.q_norm, l), ".weight", c.head_dim);
      w.k_norm = vector(at(names_.k_norm, l), ".weight", c.head_dim);
    }
    w.output = matrix(at(names_.output, l), c.hidden, q_rows);
    load_ffn(l, w);
    for (const char* name : {names_.output, names_.gate, names_.up, names_.down}) {
      refuse_bias(at(name, l));
    }
    return w;
  }

  void load_projections(int l, int64_t q_rows, int64_t kv_rows, LayerWeights& w) const {
    const std::string fused = at(names_.qkv, l);
    if (!config_->qkv_bias && find(fused, ".weight") != nullptr) {
      const TensorView all = matrix(fused, q_rows + 2 * kv_rows, config_->hidden);
      w.q = all.slice_rows(0, q_rows);
      w.k = all.slice_rows(q_rows, kv_rows);
      w.v = all.slice_rows(q_rows + kv_rows, kv_rows);
      refuse_bias(fused);
      return;
    }
    w.q = matrix(at(names_.q, l), q_rows, config_->hidden);
    w.k = matrix(at(names_.k, l), kv_rows, config_->hidden);
    w.v = matrix(at(names_.v, l), kv_rows, config_->hidden);
    w.q_bias = bias(at(names_.q, l), q_rows);
    w.k_bias = bias(at(names_.k, l), kv_rows);
    w.v_bias = bias(at(names_.v, l), kv_rows);
  }

  void load_ffn(int l, LayerWeights& w) const {
    const int64_t ffn = config_->ffn, hidden = config_->hidden;
    const bool split = find(at(names_.gate, l), ".weight") != nullptr;
    if (!split && find(at(names_.gate_up, l), ".weight") != nullptr) {
      const TensorView both = matrix(at(names_.gate_up, l), 2 * ffn, hidden);
      w.gate = both.slice_rows(0, ffn);
      w.up = both.slice_rows(ffn, ffn);
    } else {
      w.gate = matrix(at(names_.gate, l), ffn, hidden);
      w.up = matrix(at(names_.up, l), ffn, hidden);
    }
    w.down = matrix(at(names_.down, l), hidden, ffn);
  }

  const Checkpoint& checkpoint_;
  const TensorNames& names_;
  std::string file_;
  const ModelConfig* config_ = nullptr;
};

}  // namespace

Model load_model(const Checkpoint& checkpoint) { return Loader(checkpoint).load(); }

}  // namespace longhaul
