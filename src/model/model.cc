#include "model/model.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/paths.h"
#include "format/checkpoint.h"
#include "model/latent_weights.h"
#include "model/recurrent_weights.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"
#include "model/turned_experts.h"

namespace longhaul {
namespace {

/// Returns ModelShape::profile_prefix: profiles are in the model's folder, or beside its file with
/// the name of the file as prefix.
std::string profile_prefix(const std::filesystem::path& model) {
  if (is_folder(model)) return (model / "").string();
  return (model.parent_path() / model.stem()).string() + ".";
}

class Loader {
 public:
  explicit Loader(const Checkpoint& checkpoint) : checkpoint_(checkpoint), tensors_(checkpoint) {}

  Model load() {
    Model m;
    m.config = read_config(checkpoint_);
    config_ = &m.config;
    names_ = tensor_names(checkpoint_.format(), m.config.architecture);
    for (const std::string& name : m.config.rope_tensors) tensors_.mark_used(name);
    m.shape = m.config.shape();
    m.shape.profile_prefix = profile_prefix(checkpoint_.path());
    m.embedding = matrix(names_.embedding, m.config.vocab, m.config.hidden);
    const bool has_head = m.config.own_head || has_weight(names_.head);
    m.head = has_head ? matrix(names_.head, m.config.vocab, m.config.hidden) : m.embedding;
    m.final_norm = norm(names_.final_norm, m.config.hidden);
    if (m.config.layer_input > 0) load_layer_inputs(m);
    for (int l = 0; l < m.config.layers; ++l) m.layers.push_back(layer(l));
    m.turned = std::move(turned_);
    for (const LayerWeights& w : m.layers) {
      if (m.config.sinks) m.shape.sinks.emplace_back(w.sinks.data(), std::ssize(w.sinks));
      if (m.config.qk_norm == QkNorm::kFollowing) {
        m.shape.query_weights.emplace_back(w.query_weight.data(), std::ssize(w.query_weight));
      }
    }
    for (int l = 0; l < m.config.left_out_layers; ++l) {
      tensors_.leave_out(of_layer(names_.layer, m.config.layers + l));
    }
    // These parts predict several tokens ahead.
    if (!m.config.recurrent.empty() || m.config.left_out_layers > 0) tensors_.leave_out("mtp.");
    if (m.config.architecture == "ernie4_5_moe") tensors_.leave_out("model.mtp_");
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
    // In files of Falcon-H1, the name of one norm has no ending .weight.
    const bool plain = !has_weight(name) && tensors_.has(name);
    std::vector<float> weight = tensors_.vector(plain ? name : name + ".weight", size);
    if (config_->norm_offset) {
      for (float& w : weight) w += 1;
    }
    return weight;
  }
  /// Returns a norm of a layer. `name` is null if the family does not have this norm.
  std::vector<float> layer_norm(const char* name, int layer) {
    if (name == nullptr) return {};
    return norm(of_layer(name, layer), config_->hidden);
  }

  /// Returns a bias, or an empty vector if the file has none and the configuration does not require
  /// it.
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
    const FeedKind feed = c.feed_of(l);
    const bool experts = feed == FeedKind::kExperts;
    if (c.has_attention(l) || c.is_recurrent(l)) {
      w.attention_norm = layer_norm(c.norms.attention, l);
      w.attention_after_norm = layer_norm(c.norms.attention_after, l);
    }
    if (feed != FeedKind::kNone) {
      w.ffn_norm = layer_norm(c.norms.ffn, l);
      w.ffn_after_norm = layer_norm(c.norms.ffn_after, l);
    }
    load_mixers(l, w);
    if (experts) load_experts(l, w);
    if (feed == FeedKind::kNetwork || (experts && c.experts_apart)) load_ffn(l, c.ffn_of(l), w);
    if (experts && c.experts_apart) load_norms_of_experts(l, w);
    if (c.layer_input > 0) load_layer_input(l, w);
    const std::string scale = of_layer(names_.layer_scale, l);
    if (c.layer_scales && tensors_.has(scale)) w.scale = tensors_.numbers(scale, 1).front();
    return w;
  }

  /// Loads the weights of attention and of the recurrent part of a layer.
  void load_mixers(int l, LayerWeights& w) {
    const ModelConfig& c = *config_;
    if (c.latent.used()) return load_latent(checkpoint_, names_, c, l, tensors_, turned_, w);
    if (c.is_recurrent(l) && !c.delta.empty()) return load_delta(l, w);
    if (c.is_recurrent(l)) load_recurrent(checkpoint_.format(), names_, c, l, tensors_, w);
    if (c.has_attention(l)) load_attention(l, w);
  }

  void load_attention(int l, LayerWeights& w) {
    const ModelConfig& c = *config_;
    const int head_dim = c.dim_of(l);
    const int64_t q_rows = int64_t{c.heads} * head_dim;
    const int64_t kv_rows = int64_t{c.kv_heads[static_cast<size_t>(l)]} * head_dim;
    load_projections(l, c.output_gate ? 2 * q_rows : q_rows, kv_rows, w);
    if (c.plain_qk_norm) {
      const bool turns = c.other_angles.empty() || nth(c.other_angles, l) == 0;
      if (turns) w.q_norm.assign(static_cast<size_t>(head_dim), 1);
      w.k_norm = w.q_norm;
    } else if (c.qk_norm != QkNorm::kNone) {
      const bool whole = c.qk_norm == QkNorm::kWhole;
      w.q_norm = norm(of_layer(names_.q_norm, l), whole ? q_rows : head_dim);
      if (!c.shares_kv(l)) w.k_norm = norm(of_layer(names_.k_norm, l), whole ? kv_rows : head_dim);
    }
    if (c.qk_norm == QkNorm::kFollowing) join_norms(w);
    if (c.sinks) w.sinks = tensors_.vector(of_layer(names_.sinks, l), c.heads);
    const std::string output = of_layer(names_.output, l);
    w.output = matrix(output, c.hidden, q_rows);
    if (c.biases) {
      w.output_bias = tensors_.vector(output + ".bias", c.hidden);
    } else {
      refuse_bias(output);
    }
  }

  /// Prepares norms that follow RoPE. Let n be a norm without weights, a and b the weights of the
  /// norms of queries and keys, and R and R' the rotations of a query and a key. Rotations do not
  /// change the length of a vector, so n can be applied before them. The dot product of query and
  /// key is (a R n(q)) . (b R' n(k)) = (a b R n(q)) . (R' n(k)). Rotated queries are therefore
  /// multiplied by a b, and stored keys can be rotated to any position.
  static void join_norms(LayerWeights& w) {
    w.query_weight = std::move(w.q_norm);
    for (size_t t = 0; t < w.query_weight.size(); ++t) w.query_weight[t] *= w.k_norm[t];
    w.q_norm.assign(w.query_weight.size(), 1);
    w.k_norm = w.q_norm;
  }

  void load_delta(int l, LayerWeights& w) {
    const int64_t hidden = config_->hidden;
    const DeltaShape& d = config_->delta;
    const std::string woven = of_layer(names_.delta_qkvz, l), shares = of_layer(names_.delta_ba, l);
    if (has_weight(woven)) {
      w.delta_in = matrix(woven, d.channels() + d.values(), hidden);
    } else {
      w.delta_in = matrix(of_layer(names_.delta_qkv, l), d.channels(), hidden);
      w.delta_z = matrix(of_layer(names_.delta_z, l), d.values(), hidden);
    }
    if (has_weight(shares)) {
      w.delta_b = matrix(shares, 2 * int64_t{d.value_heads}, hidden);
    } else {
      w.delta_b = matrix(of_layer(names_.delta_b, l), d.value_heads, hidden);
      w.delta_a = matrix(of_layer(names_.delta_a, l), d.value_heads, hidden);
    }
    w.convolution = convolution_weights(of_layer(names_.delta_convolution, l), d.kernel,
                                        d.channels(), tensors_);
    w.dt_bias = tensors_.vector(of_layer(names_.delta_dt_bias, l), d.value_heads);
    w.rate = tensors_.vector(of_layer(names_.delta_rate, l), d.value_heads);
    if (checkpoint_.format() == CheckpointFormat::kHuggingFace) {  // stored as a logarithm
      for (float& rate : w.rate) rate = -std::exp(rate);
    }
    w.delta_norm = tensors_.vector(of_layer(names_.delta_norm, l) + ".weight", d.value_dim);
    w.output = matrix(of_layer(names_.delta_output, l), hidden, d.values());
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
    w.q_bias = bias(of_layer(names_.q, l), q_rows);
    if (config_->shares_kv(l)) {  // files may contain unused matrices for such layers
      for (const char* name : {names_.k, names_.v, names_.k_norm})
        tensors_.leave_out(of_layer(name, l) + ".");
      return;
    }
    w.k = matrix(of_layer(names_.k, l), kv_rows, config_->hidden);
    w.k_bias = bias(of_layer(names_.k, l), kv_rows);
    if (!config_->key_values.empty() && nth(config_->key_values, l) == 1) return;
    w.v = matrix(of_layer(names_.v, l), kv_rows, config_->hidden);
    w.v_bias = bias(of_layer(names_.v, l), kv_rows);
  }

  /// Loads the feed-forward network that all rows use. If gate and up may be fused, a GGUF file
  /// stores both in one tensor, with the name that other families use for up alone. In other
  /// families, an up matrix without a gate matrix is an error.
  void load_ffn(int l, int64_t ffn, LayerWeights& w) {
    const int64_t hidden = config_->hidden;
    if (config_->ungated != Ungated::kNone) {
      w.up = matrix(of_layer(names_.up, l), ffn, hidden);
      if (config_->ungated == Ungated::kXielu) w.xielu = load_xielu(l);
    } else if (config_->fused_gate_up && !has_weight(of_layer(names_.gate, l))) {
      const TensorView both = matrix(of_layer(names_.gate_up, l), 2 * ffn, hidden);
      w.gate = both.slice_rows(0, ffn);
      w.up = both.slice_rows(ffn, ffn);
    } else {
      w.gate = matrix(of_layer(names_.gate, l), ffn, hidden);
      w.up = matrix(of_layer(names_.up, l), ffn, hidden);
    }
    w.down = matrix(of_layer(names_.down, l), hidden, ffn);
    for (const char* name : {names_.gate, names_.up, names_.down}) refuse_bias(of_layer(name, l));
  }

  /// Loads the parameters of xIELU. The file contains them before a softplus.
  Xielu load_xielu(int l) {
    const auto number = [&](const char* name) {
      if (checkpoint_.format() == CheckpointFormat::kGguf) {
        return gguf_number_of_layer(std::string("xielu.") + name, l);
      }
      return tensors_.numbers(of_layer("model.layers.{}.mlp.act_fn.", l) + name, 1).front();
    };
    const auto softplus = [](float x) { return x > 20 ? x : std::log1p(std::exp(x)); };
    Xielu x = {number("alpha_p"), number("alpha_n"), number("beta"), number("eps")};
    x.alpha_p = softplus(x.alpha_p);
    x.alpha_n = x.beta + softplus(x.alpha_n);
    return x;
  }

  /// Returns a number for a layer. The file has a list, or one number for all layers.
  float gguf_number_of_layer(const std::string& key, int l) const {
    const GgufMetadata& data = checkpoint_.gguf();
    const GgufEntry* entry = data.find(key);
    if (entry == nullptr || entry->type != GgufType::kArray) {
      return static_cast<float>(data.get_f64(key));
    }
    const GgufArray& numbers = entry->array;
    if (numbers.element != GgufType::kF32 ||
        numbers.count != static_cast<uint64_t>(config_->layers)) {
      user_error("{}: {} is not a number for each of {} layers", data.file(), key, config_->layers);
    }
    float value;
    std::memcpy(&value, numbers.bytes.data() + static_cast<size_t>(l) * sizeof value, sizeof value);
    return value;
  }

  void load_experts(int l, LayerWeights& w) {
    const ModelConfig& c = *config_;
    w.router = matrix(of_layer(names_.router, l), c.experts, c.hidden);
    w.experts.resize(static_cast<size_t>(c.experts));
    const ExpertNames gate{names_.expert_gate, names_.experts_gate};
    const ExpertNames up{names_.expert_up, names_.experts_up};
    const ExpertNames down{names_.expert_down, names_.experts_down};
    if (c.expert_order != ExpertOrder::kRows) {
      load_turned_experts(names_, c, l, tensors_, turned_, w);
    } else if (tensors_.has(of_layer(names_.experts_gate_up, l))) {
      load_joined_experts(l, w);
    } else {
      if (c.ungated == Ungated::kNone)
        load_expert_matrices(l, gate, c.ffn, c.hidden, &ExpertWeights::gate, w);
      load_expert_matrices(l, up, c.ffn, c.hidden, &ExpertWeights::up, w);
      load_expert_matrices(l, down, c.hidden, c.ffn, &ExpertWeights::down, w);
    }
    if (c.shared_ffn > 0) load_shared_expert(l, w);
    const std::string choice_bias = of_layer(names_.choice_bias, l);
    if (c.choice_bias && (c.expert_sigmoid || tensors_.has(choice_bias))) {
      w.choice_bias = tensors_.numbers(choice_bias, c.experts);
    }
    if (c.biases) load_expert_biases(l, w);
  }

  void load_shared_expert(int l, LayerWeights& w) {
    const ModelConfig& c = *config_;
    const std::string gate = of_layer(names_.shared_gate, l);
    if (c.fused_gate_up && !has_weight(gate)) {
      const TensorView both = matrix(of_layer(names_.gate_up, l), 2 * c.shared_ffn, c.hidden);
      w.gate = both.slice_rows(0, c.shared_ffn);
      w.up = both.slice_rows(c.shared_ffn, c.shared_ffn);
    } else {
      if (c.ungated == Ungated::kNone) w.gate = matrix(gate, c.shared_ffn, c.hidden);
      w.up = matrix(of_layer(names_.shared_up, l), c.shared_ffn, c.hidden);
    }
    w.down = matrix(of_layer(names_.shared_down, l), c.hidden, c.shared_ffn);
    if (c.shared_gate)
      w.shared_gate = tensors_.row(of_layer(names_.shared_expert_gate, l), c.hidden);
  }

  /// Loads the norms of Gemma 4's experts, and the factors of the router's input and of the
  /// experts.
  void load_norms_of_experts(int l, LayerWeights& w) {
    const int64_t hidden = config_->hidden;
    w.network_after_norm = norm(of_layer(names_.network_after_norm, l), hidden);
    w.experts_norm = norm(of_layer(names_.experts_norm, l), hidden);
    w.experts_after_norm = norm(of_layer(names_.experts_after_norm, l), hidden);
    w.router_norm = tensors_.numbers(of_layer(names_.router_scale, l), hidden);
    for (float& x : w.router_norm) x /= std::sqrt(static_cast<float>(hidden));
    const std::string scales = of_layer(names_.expert_scales, l);
    w.expert_scales.assign(static_cast<size_t>(config_->experts), 1);
    if (tensors_.has(scales)) w.expert_scales = tensors_.numbers(scales, config_->experts);
  }

  void load_layer_inputs(Model& m) {
    const int64_t width = int64_t{m.config.layer_input} * m.config.layers;
    const std::string embedding = std::string(names_.layer_embedding) + ".weight";
    const int64_t rows = checkpoint_.get(embedding).rows();
    m.layer_embedding = tensors_.matrix(embedding, rows, width);
    m.layer_projection = matrix(names_.layer_projection, width, m.config.hidden);
    m.layer_projection_norm = norm(names_.layer_projection_norm, m.config.layer_input);
    if (rows >= m.config.vocab) return;
    user_error("{}: tensor {} has {} rows, fewer than {} tokens", checkpoint_.path().string(),
               embedding, rows, m.config.vocab);
  }

  void load_layer_input(int l, LayerWeights& w) {
    const int64_t hidden = config_->hidden, width = config_->layer_input;
    w.input_gate = matrix(of_layer(names_.input_gate, l), width, hidden);
    w.input_output = matrix(of_layer(names_.input_output, l), hidden, width);
    w.input_norm = norm(of_layer(names_.input_norm, l), hidden);
  }

  /// Loads experts from one tensor for gate and up. The rows of an expert's gate precede those of
  /// its up.
  void load_joined_experts(int l, LayerWeights& w) {
    const int64_t ffn = config_->ffn, hidden = config_->hidden, experts = config_->experts;
    const TensorView both =
        tensors_.matrices(of_layer(names_.experts_gate_up, l), experts, 2 * ffn, hidden);
    const TensorView down =
        tensors_.matrices(of_layer(names_.experts_down_beside, l), experts, hidden, ffn);
    for (int64_t e = 0; e < experts; ++e) {
      ExpertWeights& expert = nth(w.experts, e);
      expert.gate = both.slice_rows(e * 2 * ffn, ffn);
      expert.up = both.slice_rows(e * 2 * ffn + ffn, ffn);
      expert.down = down.slice_rows(e * hidden, hidden);
    }
  }

  struct ExpertNames {
    const char *each, *all;
  };

  /// Loads one matrix of every expert, from one tensor for all or from one per expert.
  void load_expert_matrices(int l, ExpertNames names, int64_t rows, int64_t cols,
                            TensorView ExpertWeights::*role, LayerWeights& w) {
    if (names.all != nullptr && !has_weight(of_expert(names.each, l, 0))) {
      const TensorView all =
          tensors_.matrices(of_layer(names.all, l) + ".weight", config_->experts, rows, cols);
      for (int e = 0; e < config_->experts; ++e) {
        w.experts[static_cast<size_t>(e)].*role = all.slice_rows(e * rows, rows);
      }
      return;
    }
    for (int e = 0; e < config_->experts; ++e) {
      w.experts[static_cast<size_t>(e)].*role = matrix(of_expert(names.each, l, e), rows, cols);
    }
  }

  void load_expert_biases(int l, LayerWeights& w) {
    const ModelConfig& c = *config_;
    w.router_bias = tensors_.vector(of_layer(names_.router, l) + ".bias", c.experts);
    if (c.expert_order != ExpertOrder::kRows) return;  // loaded with the matrices
    const auto load = [&](const char* name, int64_t size, std::vector<float> ExpertWeights::*bias) {
      const auto all = tensors_.vectors(of_layer(name, l) + ".bias", c.experts, size);
      for (size_t e = 0; e < w.experts.size(); ++e) {
        const auto begin = all.begin() + static_cast<int64_t>(e) * size;
        (w.experts[e].*bias).assign(begin, begin + size);
      }
    };
    load(names_.experts_gate, c.ffn, &ExpertWeights::gate_bias);
    load(names_.experts_up, c.ffn, &ExpertWeights::up_bias);
    load(names_.experts_down, c.hidden, &ExpertWeights::down_bias);
  }

  const Checkpoint& checkpoint_;
  TensorNames names_{};
  TensorFinder tensors_;
  std::vector<Buffer<std::byte>> turned_;
  const ModelConfig* config_ = nullptr;
};

}  // namespace

Model load_model(const Checkpoint& checkpoint) { return Loader(checkpoint).load(); }

}  // namespace longhaul
