#include "model/model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/paths.h"
#include "format/checkpoint.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"

namespace longhaul {
namespace {

/// Where profiles of methods lie: in a model's folder, or beside its file and named after it.
std::string profile_prefix(const std::filesystem::path& model) {
  if (is_folder(model)) return (model / "").string();
  return (model.parent_path() / model.stem()).string() + ".";
}

class Loader {
 public:
  explicit Loader(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), names_(tensor_names(checkpoint.format())), tensors_(checkpoint) {}

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
    w.attention_norm = norm(of_layer(names_.attention_norm, l), c.hidden);
    w.ffn_norm = norm(of_layer(names_.ffn_norm, l), c.hidden);
    const int64_t q_rows = int64_t{c.heads} * c.head_dim;
    const int64_t kv_rows = int64_t{c.kv_heads[static_cast<size_t>(l)]} * c.head_dim;
    load_projections(l, q_rows, kv_rows, w);
    if (c.architecture == "qwen3") {
      w.q_norm = norm(of_layer(names_.q_norm, l), c.head_dim);
      w.k_norm = norm(of_layer(names_.k_norm, l), c.head_dim);
    }
    w.output = matrix(of_layer(names_.output, l), c.hidden, q_rows);
    load_ffn(l, w);
    for (const char* name : {names_.output, names_.gate, names_.up, names_.down}) {
      refuse_bias(of_layer(name, l));
    }
    return w;
  }

  void load_projections(int l, int64_t q_rows, int64_t kv_rows, LayerWeights& w) {
    const std::string fused = of_layer(names_.qkv, l);
    if (!config_->qkv_bias && has_weight(fused)) {
      const TensorView all = matrix(fused, q_rows + 2 * kv_rows, config_->hidden);
      w.q = all.slice_rows(0, q_rows);
      w.k = all.slice_rows(q_rows, kv_rows);
      w.v = all.slice_rows(q_rows + kv_rows, kv_rows);
      refuse_bias(fused);
      return;
    }
    w.q = matrix(of_layer(names_.q, l), q_rows, config_->hidden);
    w.k = matrix(of_layer(names_.k, l), kv_rows, config_->hidden);
    w.v = matrix(of_layer(names_.v, l), kv_rows, config_->hidden);
    w.q_bias = bias(of_layer(names_.q, l), q_rows);
    w.k_bias = bias(of_layer(names_.k, l), kv_rows);
    w.v_bias = bias(of_layer(names_.v, l), kv_rows);
  }

  /// phi3 alone has gate and up in one matrix, which GGUF names as others name up: of another
  /// family a matrix of that name without a gate is a file that lacks its gate.
  void load_ffn(int l, LayerWeights& w) {
    const int64_t ffn = config_->ffn, hidden = config_->hidden;
    if (config_->architecture == "phi3" && !has_weight(of_layer(names_.gate, l))) {
      const TensorView both = matrix(of_layer(names_.gate_up, l), 2 * ffn, hidden);
      w.gate = both.slice_rows(0, ffn);
      w.up = both.slice_rows(ffn, ffn);
    } else {
      w.gate = matrix(of_layer(names_.gate, l), ffn, hidden);
      w.up = matrix(of_layer(names_.up, l), ffn, hidden);
    }
    w.down = matrix(of_layer(names_.down, l), hidden, ffn);
  }

  const Checkpoint& checkpoint_;
  const TensorNames& names_;
  TensorFinder tensors_;
  const ModelConfig* config_ = nullptr;
};

}  // namespace

Model load_model(const Checkpoint& checkpoint) { return Loader(checkpoint).load(); }

}  // namespace longhaul
