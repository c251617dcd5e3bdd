#include "model/model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/paths.h"
#include "format/checkpoint.h"
#include "model/tensor_finder.h"

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
  if (is_folder(model)) return (model / "").string();
  return (model.parent_path() / model.stem()).string() + ".";
}

class Loader {
 public:
  explicit Loader(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        names_(checkpoint.format() == CheckpointFormat::kGguf ? kGguf : kHuggingFace),
        tensors_(checkpoint) {}

  Model load() {
    Model m;
    m.config = read_config(checkpoint_);
    config_ = &m.config;
    for (const std::string& name : m.config.rope_tensors) tensors_.mark_used(name);
    m.shape = m.config.shape();
    m.shape.profile_prefix = profile_prefix(checkpoint_.path());
    m.embedding = matrix(names_.embedding, m.config.vocab, m.config.hidden);
    const bool has_head = m.config.own_head || has_weight(names_.head);
    m.head = has_head ? matrix(names_.head, m.config.vocab, m.config.hidden) : m.embedding;
    m.final_norm = norm(names_.final_norm, m.config.hidden);
    for (int l = 0; l < m.config.layers; ++l) m.layers.push_back(layer(l));
    tensors_.refuse_unused(fmt::format("a {} model of {} layer{}", m.config.architecture,
                                       m.config.layers, m.config.layers == 1 ? "" : "s"));
    return m;
  }

 private:
  std::string at(const char* name, int layer) const {
    return fmt::format(fmt::runtime(name), layer);
  }
  bool has_weight(const std::string& name) const { return tensors_.has(name + ".weight"); }
  TensorView matrix(const std::string& name, int64_t rows, int64_t cols) {
    return tensors_.matrix(name + ".weight", rows, cols);
  }
  std::vector<float> norm(const std::string& name, int64_t size) {
    return tensors_.vector(name + ".weight", size);
  }

  /// A bias that may be missing where the configuration does not promise it.
  std::vector<float> bias(const std::string& name, int64_t size) {
    if (!config_->qkv_bias && !tensors_.has(name + ".bias")) return {};
    return tensors_.vector(name + ".bias", size);
  }

  void refuse_bias(const std::string& name) const {
    if (!tensors_.has(name + ".bias")) return;
    user_error("{}: tensor {}.bias: a bias is not supported there", checkpoint_.path().string(),
               name);
  }

  LayerWeights layer(int l) {
    const ModelConfig& c = *config_;
    LayerWeights w;
    w.attention_norm = norm(at(names_.attention_norm, l), c.hidden);
    w.ffn_norm = norm(at(names_.ffn_norm, l), c.hidden);
    const int64_t q_rows = int64_t{c.heads} * c.head_dim;
    const int64_t kv_rows = int64_t{c.kv_heads[static_cast<size_t>(l)]} * c.head_dim;
    load_projections(l, q_rows, kv_rows, w);
    if (c.architecture == "qwen3") {
      w.q_norm = norm(at(names_.q_norm, l), c.head_dim);
      w.k_norm = norm(at(names_.k_norm, l), c.head_dim);
    }
    w.output = matrix(at(names_.output, l), c.hidden, q_rows);
    load_ffn(l, w);
    for (const char* name : {names_.output, names_.gate, names_.up, names_.down}) {
      refuse_bias(at(name, l));
    }
    return w;
  }

  void load_projections(int l, int64_t q_rows, int64_t kv_rows, LayerWeights& w) {
    const std::string fused = at(names_.qkv, l);
    if (!config_->qkv_bias && has_weight(fused)) {
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

  /// phi3 alone has gate and up in one matrix, which GGUF names as others name up: of another
  /// family a matrix of that name without a gate is a file that lacks its gate.
  void load_ffn(int l, LayerWeights& w) {
    const int64_t ffn = config_->ffn, hidden = config_->hidden;
    if (config_->architecture == "phi3" && !has_weight(at(names_.gate, l))) {
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
  TensorFinder tensors_;
  const ModelConfig* config_ = nullptr;
};

}  // namespace

Model load_model(const Checkpoint& checkpoint) { return Loader(checkpoint).load(); }

}  // namespace longhaul
