#include "model/lora.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "model/stack_low_rank.h"
#include "model/tensor_names.h"
#include "ops/matmul/dequantize.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Returns pointers to the adapters of all matrices of a model.
template <class Adapter, class AnyModel>
std::vector<Adapter*> all_of(AnyModel& model) {
  std::vector<Adapter*> all{&model.head_adapter};
  for (auto& a : model.adapters) {
    all.insert(all.end(),
               {&a.q, &a.k, &a.v, &a.output, &a.gate, &a.up, &a.down, &a.delta_in, &a.delta_z,
                &a.delta_b, &a.delta_a, &a.recurrent_in, &a.recurrent_output});
  }
  return all;
}

class Attacher {
 public:
  Attacher(std::span<const WeightedLora> adapters, Model& model)
      : adapters_(adapters), model_(model), used_(adapters.size()) {}

  void attach() {
    for (const WeightedLora& a : adapters_) check_family(a.file);
    const ModelConfig& c = model_.config;
    model_.adapters.resize(static_cast<size_t>(c.layers));
    for (int l = 0; l < c.layers; ++l) layer(l);
    model_.head_adapter = beside(&TensorNames::head, 0, 0, c.vocab, c.hidden, Order::kAsIs);
    replace_ends();
    for (size_t i = 0; i < adapters_.size(); ++i) refuse_unused(i);
    pack();
  }

 private:
  /// kHeads: rows of heads, which may be stored as adjacent RoPE pairs.
  enum class Order { kAsIs, kHeads };

  void check_family(const LoraFile& file) const {
    const std::string& family = model_.config.architecture;
    if (file.architecture().empty() || same_family(file.architecture(), family)) return;
    user_error("{}: an adapter for {} models, this is a {} model", file.path().string(),
               printable(file.architecture()), family);
  }

  void layer(int l) {
    const ModelConfig& c = model_.config;
    LayerAdapters& a = model_.adapters[static_cast<size_t>(l)];
    LayerWeights& w = model_.layers[static_cast<size_t>(l)];
    const int64_t q = int64_t{c.heads} * c.dim_of(l);
    const int64_t kv = int64_t{c.kv_heads[static_cast<size_t>(l)]} * c.dim_of(l);
    feed_forward(l, w, a);
    if (c.is_recurrent(l)) recurrent(l, w, a);
    if (!c.has_attention(l)) return;
    if (c.latent.used()) {
      const int64_t values = w.output.cols();
      return matrix(&TensorNames::output, l, {&a.output, &w.output, c.hidden}, values,
                    Order::kAsIs);
    }
    const int64_t q_rows = c.output_gate ? 2 * q : q;
    matrix(&TensorNames::q, l, {&a.q, &w.q, q_rows, &w.q_bias}, c.hidden, Order::kHeads);
    if (w.k.data != nullptr)
      matrix(&TensorNames::k, l, {&a.k, &w.k, kv, &w.k_bias}, c.hidden, Order::kHeads);
    if (w.v.data != nullptr)
      matrix(&TensorNames::v, l, {&a.v, &w.v, kv, &w.v_bias}, c.hidden, Order::kAsIs);
    matrix(&TensorNames::output, l, {&a.output, &w.output, c.hidden}, q, Order::kAsIs);
    // The matrices of phi3 that combine several matrices.
    if (!c.fused_gate_up) return;
    fused(&TensorNames::qkv, l, {{&a.q, &w.q, q}, {&a.k, &w.k, kv}, {&a.v, &w.v, kv}}, c.hidden);
  }

  void recurrent(int l, LayerWeights& w, LayerAdapters& a) {
    const ModelConfig& c = model_.config;
    if (!c.delta.empty()) return delta(l, w, a);
    matrix(&TensorNames::recurrent_in, l, {&a.recurrent_in, &w.recurrent_in, w.recurrent_in.rows()},
           c.hidden, Order::kAsIs);
    matrix(&TensorNames::recurrent_output, l, {&a.recurrent_output, &w.recurrent_output, c.hidden},
           c.recurrent_width(), Order::kAsIs);
  }

  /// Attaches adapters of a gated delta net. The model uses the rows of these matrices in the order
  /// of the file.
  void delta(int l, LayerWeights& w, LayerAdapters& a) {
    const ModelConfig& c = model_.config;
    const auto rows = [](const TensorView& matrix) { return matrix.rows(); };
    const bool woven = w.delta_z.data == nullptr, shares = w.delta_a.data == nullptr;
    const auto role = [&](const char* TensorNames::*name, LowRank& adapter, TensorView& weights) {
      refuse_other_format(name, l);
      matrix(name, l, {&adapter, &weights, rows(weights)}, c.hidden, Order::kAsIs);
    };
    role(woven ? &TensorNames::delta_qkvz : &TensorNames::delta_qkv, a.delta_in, w.delta_in);
    if (!woven) role(&TensorNames::delta_z, a.delta_z, w.delta_z);
    role(shares ? &TensorNames::delta_ba : &TensorNames::delta_b, a.delta_b, w.delta_b);
    if (!shares) role(&TensorNames::delta_a, a.delta_a, w.delta_a);
    refuse_other_format(&TensorNames::delta_output, l);
    matrix(&TensorNames::delta_output, l, {&a.output, &w.output, c.hidden}, c.delta.values(),
           Order::kAsIs);
  }

  /// Throws UserError if an adapter in the other file format changes a matrix of a delta net,
  /// because the order of heads differs between the formats.
  void refuse_other_format(const char* TensorNames::*role, int l) const {
    const std::string& family = model_.config.architecture;
    for (const WeightedLora& adapter : adapters_) {
      const LoraFile& file = adapter.file;
      if (find_family(file.format(), family) != nullptr) continue;
      const std::string name = of_layer(names_of(file).*role, l);
      if (!file.factors().contains(name) && !file.whole().contains(name)) continue;
      user_error("{}: {}: adapters of recurrent layers must have the file format of the model",
                 file.path().string(), printable(name));
    }
  }

  void feed_forward(int l, LayerWeights& w, LayerAdapters& a) {
    const ModelConfig& c = model_.config;
    const bool shared = !w.experts.empty() && w.has_network() && !c.experts_apart;
    const int64_t hidden = c.hidden, ffn = w.has_network() ? w.up.rows() : c.ffn;
    if (c.ungated == Ungated::kNone)
      matrix(shared ? &TensorNames::shared_gate : &TensorNames::gate, l, {&a.gate, &w.gate, ffn},
             hidden, Order::kAsIs);
    matrix(shared ? &TensorNames::shared_up : &TensorNames::up, l, {&a.up, &w.up, ffn}, hidden,
           Order::kAsIs);
    matrix(shared ? &TensorNames::shared_down : &TensorNames::down, l, {&a.down, &w.down, hidden},
           ffn, Order::kAsIs);
    if (!c.fused_gate_up) return;
    // In GGUF files, the name of the combined matrix is the one that other families use for up
    // alone.
    fused(&TensorNames::gate_up, l, {{&a.gate, &w.gate, ffn}, {&a.up, &w.up, ffn}}, hidden);
  }

  TensorNames names_of(const LoraFile& file) const {
    return tensor_names(file.format(), model_.config.architecture);
  }

  struct Part {
    LowRank* adapter;
    TensorView* weights;
    int64_t outputs;
    std::vector<float>* bias = nullptr;
  };

  void matrix(const char* TensorNames::*role, int l, Part part, int64_t inputs, Order order) {
    *part.adapter = beside(role, l, 0, part.outputs, inputs, order);
    replace(role, l, 0, part, inputs, order, part.outputs);
    if (part.bias != nullptr) replace_bias(role, l, part, order);
  }

  void fused(const char* TensorNames::*role, int l, std::initializer_list<Part> parts,
             int64_t inputs) {
    int64_t all = 0, begin = 0;
    for (const Part& part : parts) all += part.outputs;
    for (const Part& part : parts) {
      LowRank found = beside(role, l, begin, part.outputs, inputs, Order::kAsIs, all);
      if (!found.empty()) *part.adapter = std::move(found);
      replace(role, l, begin, part, inputs, Order::kAsIs, all);
      begin += part.outputs;
    }
  }

  /// Returns the combined adapters of all files for rows [begin, begin + outputs) of a matrix.
  /// `all` is the number of rows of the matrix, or 0 if it has only these rows.
  LowRank beside(const char* TensorNames::*role, int l, int64_t begin, int64_t outputs,
                 int64_t inputs, Order order, int64_t all = 0) {
    if (all == 0) all = outputs;
    std::vector<LowRank> found;
    for (size_t i = 0; i < adapters_.size(); ++i) {
      const LoraFile& file = adapters_[i].file;
      const std::string name = of_layer(names_of(file).*role, l);
      const auto at = file.factors().find(name);
      if (at == file.factors().end()) continue;
      const LoraFile::Factors& f = at->second;
      // In GGUF files, up and phi3's combined gate and up have the same name. The shape
      // distinguishes them.
      if (model_.config.fused_gate_up && f.b.rows() != all) continue;
      check_shape(file, name, f, all, inputs);
      used_[i].insert(name);
      const double scale = file.scale(f) * adapters_[i].weight;
      LowRank piece{f.a, f.b.slice_rows(begin, outputs), {}, {}};
      piece.scale.assign(static_cast<size_t>(f.a.rows()), static_cast<float>(scale));
      if (order == Order::kHeads) order_heads(file, piece.b);
      found.push_back(std::move(piece));
    }
    return stack_low_rank(std::move(found), model_.adapter_memory);
  }

  /// Returns the tensor that replaces a matrix, or null if there is none. Throws UserError if two
  /// files replace the same matrix.
  const TensorView* whole(const char* TensorNames::*role, int l, int64_t outputs, int64_t inputs,
                          const char* ending = "") {
    const TensorView* found = nullptr;
    for (size_t i = 0; i < adapters_.size(); ++i) {
      const LoraFile& file = adapters_[i].file;
      const std::string name = of_layer(names_of(file).*role, l) + ending;
      const auto at = file.whole().find(name);
      if (at == file.whole().end()) continue;
      const TensorView& weights = at->second;
      if (weights.rows() != outputs || weights.cols() != inputs) {
        user_error("{}: {} is [{}, {}], the model's is [{}, {}]", file.path().string(),
                   printable(name), weights.rows(), weights.cols(), outputs, inputs);
      }
      if (adapters_[i].weight != 1 || found != nullptr) {
        user_error("{}: {} takes the place of the model's: it can be used whole and alone only",
                   file.path().string(), printable(name));
      }
      used_[i].insert(name);
      found = &weights;
      replacing_ = &file;
    }
    return found;
  }

  void replace_bias(const char* TensorNames::*role, int l, Part part, Order order) {
    // A bias that the model does not have is later rejected as unused.
    if (part.bias->empty()) return;
    const TensorView* found = whole(role, l, 1, part.outputs, ".bias");
    if (found == nullptr) return;
    TensorView rows = *found;
    rows.rank = 2;
    rows.shape = {part.outputs, 1, 1, 1};
    if (order == Order::kHeads) order_heads(*replacing_, rows);
    dequantize_rows(rows, 0, part.outputs, part.bias->data());
    model_.replaced_biases = true;
  }

  /// Replaces a part of a matrix if a file replaces the matrix. `all` is the number of rows of the
  /// matrix, and the rows of the part begin at `begin`.
  void replace(const char* TensorNames::*role, int l, int64_t begin, Part part, int64_t inputs,
               Order order, int64_t all) {
    const TensorView* found = whole(role, l, all, inputs);
    if (found == nullptr) return;
    TensorView rows = found->slice_rows(begin, part.outputs);
    if (order == Order::kHeads) order_heads(*replacing_, rows);
    put(rows, *part.weights);
  }

  void put(const TensorView& rows, TensorView& weights) {
    model_.replaced.push_back({weights, rows});
    weights = rows;
  }

  /// Replaces the embedding and the matrix of the logits. If the model has one tensor for both, it
  /// gets a second one, because PEFT copies the module that it trains.
  void replace_ends() {
    const ModelConfig& c = model_.config;
    const bool tied = model_.head.data == model_.embedding.data;
    const TensorView* embedding = whole(&TensorNames::embedding, 0, c.vocab, c.hidden);
    const bool both = tied && embedding != nullptr && replacing_->keeps_tied();
    const TensorView* head = whole(&TensorNames::head, 0, c.vocab, c.hidden);
    if (both && head == nullptr) head = embedding;
    if (embedding != nullptr) put(*embedding, model_.embedding);
    if (head != nullptr) put(*head, model_.head);
  }

  void check_shape(const LoraFile& file, const std::string& name, const LoraFile::Factors& f,
                   int64_t outputs, int64_t inputs) const {
    if (f.b.rows() == outputs && f.a.cols() == inputs) return;
    user_error("{}: {}: factors for a matrix of [{}, {}], the model's is [{}, {}]",
               file.path().string(), printable(name), f.b.rows(), f.a.cols(), outputs, inputs);
  }

  /// Changes the order of rows of Q or K to that of the model.
  void order_heads(const LoraFile& file, TensorView& rows) {
    const bool gguf = file.format() == CheckpointFormat::kGguf;
    // Adapters of PEFT belong to the family of the model.
    const Family* family = gguf ? find_family(file.format(), file.architecture()) : nullptr;
    const bool pairs = family != nullptr ? family->gguf_pairs : hf_pairs();
    if (pairs == model_.config.interleaved_rope) return;
    const int head_dim = model_.config.head_dim, rotary = model_.config.rope.rotary_dim;
    const auto source = [&](int64_t row) {
      const int64_t head = row / head_dim, t = row % head_dim, half = rotary / 2;
      if (t >= rotary) return row;
      // From adjacent pairs to halves.
      const int64_t from = pairs ? (t < half ? 2 * t : 2 * (t - half) + 1)
                                 : t / 2 + (t % 2) * half;  // from halves to adjacent pairs
      return head * head_dim + from;
    };
    rows = reorder_rows(rows, source, model_.adapter_memory);
  }

  /// Returns whether rows of Q and K are adjacent RoPE pairs in Hugging Face files of the model's
  /// family.
  bool hf_pairs() const {
    for (const auto format : {CheckpointFormat::kHuggingFace, CheckpointFormat::kGguf}) {
      const Family* family = find_family(format, model_.config.architecture);
      if (family != nullptr) return family->hf_pairs;
    }
    return false;
  }

  void pack() {
    const std::vector<LowRank*> all = all_of<LowRank>(model_);
    parallel_for(static_cast<int64_t>(all.size()), [&](int64_t i, int) {
      LowRank& adapter = *all[static_cast<size_t>(i)];
      if (!adapter.empty()) adapter.packed_b = PackedOutputs(adapter.b);
    });
  }

  void refuse_unused(size_t i) const {
    const LoraFile& file = adapters_[i].file;
    const TensorNames& names = tensor_names(file.format());
    std::vector<std::string> all;
    for (const auto& [name, factors] : file.factors()) all.push_back(name);
    for (const auto& [name, weights] : file.whole()) all.push_back(name);
    for (const std::string& name : all) {
      if (used_[i].contains(name)) continue;
      if (name == names.embedding) {
        user_error("{}: {}: an adapter of the embedding is not supported", file.path().string(),
                   name);
      }
      user_error("{}: {} is not part of a {} model of {} layers", file.path().string(),
                 printable(name), model_.config.architecture, model_.config.layers);
    }
  }

  std::span<const WeightedLora> adapters_;
  Model& model_;
  std::vector<std::set<std::string>> used_;  ///< per file: names of used tensors
  /// The adapter from which the last result of whole() comes.
  const LoraFile* replacing_ = nullptr;
};

/// Returns the value of the adapters that have one. Throws UserError if values differ.
template <class T, class Of>
std::optional<T> agreed(std::span<const WeightedLora> adapters, const char* what, Of&& of) {
  std::optional<T> value;
  const LoraFile* first = nullptr;
  for (const WeightedLora& a : adapters) {
    const std::optional<T> own = of(a.file);
    if (!own) continue;
    if (value && *value != *own) {
      user_error("{}: its {} is {}, that of {} is {}: they cannot be used together",
                 a.file.path().string(), what, *own, first->path().string(), *value);
    }
    value = own;
    first = &a.file;
  }
  return value;
}

void override_config(std::span<const WeightedLora> adapters, Model& model) {
  const auto base =
      agreed<double>(adapters, "RoPE base", [](const LoraFile& file) { return file.rope_base(); });
  const auto context = agreed<int64_t>(adapters, "context length",
                                       [](const LoraFile& file) { return file.context(); });
  if (!base && !context) return;
  if (base && (!(*base > 1) || !std::isfinite(*base))) {
    user_error("{}: RoPE base {}, expected more than 1", adapters.front().file.path().string(),
               *base);
  }
  ModelConfig& config = model.config;
  if (base) config.rope.base = *base;
  if (context) config.trained_context = *context;
  ModelShape shape = config.shape();
  shape.profile_prefix = model.shape.profile_prefix;
  shape.sinks = model.shape.sinks;
  shape.query_weights = model.shape.query_weights;
  model.shape = std::move(shape);
}

}  // namespace

void attach_adapters(std::span<const WeightedLora> adapters, Model& model) {
  if (adapters.empty()) return;
  override_config(adapters, model);
  Attacher(adapters, model).attach();
}

size_t converted_bytes(const Model& model) {
  size_t bytes = 0;
  for (const LowRank* adapter : all_of<const LowRank>(model)) bytes += adapter->packed_b.bytes();
  for (const Buffer<std::byte>& memory : model.adapter_memory) bytes += memory.size();
  return bytes;
}

}  // namespace longhaul
