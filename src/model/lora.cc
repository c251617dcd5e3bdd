#include "model/lora.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "model/stack_low_rank.h"
#include "model/tensor_names.h"
#include "text/printable.h"

namespace longhaul {
namespace {

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
    for (size_t i = 0; i < adapters_.size(); ++i) refuse_unused(i);
    pack();
  }

 private:
  enum class Order { kAsIs, kHeads };  ///< of a matrix's rows: heads may be stored in pairs

  void check_family(const LoraFile& file) const {
    const std::string& family = model_.config.architecture;
    if (file.architecture().empty() || same_family(file.architecture(), family)) return;
    user_error("{}: an adapter for {} models, this is a {} model", file.path().string(),
               printable(file.architecture()), family);
  }

  void layer(int l) {
    const ModelConfig& c = model_.config;
    LayerAdapters& a = model_.adapters[static_cast<size_t>(l)];
    const int64_t q = int64_t{c.heads} * c.head_dim;
    const int64_t kv = int64_t{c.kv_heads[static_cast<size_t>(l)]} * c.head_dim;
    const int64_t hidden = c.hidden, ffn = c.ffn;
    a.q = beside(&TensorNames::q, l, 0, q, hidden, Order::kHeads);
    a.k = beside(&TensorNames::k, l, 0, kv, hidden, Order::kHeads);
    a.v = beside(&TensorNames::v, l, 0, kv, hidden, Order::kAsIs);
    a.output = beside(&TensorNames::output, l, 0, hidden, q, Order::kAsIs);
    a.gate = beside(&TensorNames::gate, l, 0, ffn, hidden, Order::kAsIs);
    a.up = beside(&TensorNames::up, l, 0, ffn, hidden, Order::kAsIs);
    a.down = beside(&TensorNames::down, l, 0, hidden, ffn, Order::kAsIs);
    // phi3's, of several in one; GGUF calls gate and up together as others call up alone.
    if (!c.fused_gate_up) return;
    fused(&TensorNames::qkv, l, {{&a.q, q}, {&a.k, kv}, {&a.v, kv}}, hidden);
    fused(&TensorNames::gate_up, l, {{&a.gate, ffn}, {&a.up, ffn}}, hidden);
  }

  struct Part {
    LowRank* adapter;
    int64_t outputs;
  };

  void fused(const char* TensorNames::*role, int l, std::initializer_list<Part> parts,
             int64_t inputs) {
    int64_t all = 0, begin = 0;
    for (const Part& part : parts) all += part.outputs;
    for (const Part& part : parts) {
      LowRank found = beside(role, l, begin, part.outputs, inputs, Order::kAsIs, all);
      if (!found.empty()) *part.adapter = std::move(found);
      begin += part.outputs;
    }
  }

  /// What all files have for the rows [begin, begin + outputs) of a matrix; `all`: of how many, 0:
  /// of these.
  LowRank beside(const char* TensorNames::*role, int l, int64_t begin, int64_t outputs,
                 int64_t inputs, Order order, int64_t all = 0) {
    if (all == 0) all = outputs;
    std::vector<LowRank> found;
    for (size_t i = 0; i < adapters_.size(); ++i) {
      const LoraFile& file = adapters_[i].file;
      const std::string name = of_layer(tensor_names(file.format()).*role, l);
      const auto at = file.factors().find(name);
      if (at == file.factors().end()) continue;
      const LoraFile::Factors& f = at->second;
      // GGUF's name for up is phi3's for gate and up: the shape tells them apart.
      if (model_.config.fused_gate_up && f.b.rows() != all) continue;
      check_shape(file, name, f, all, inputs);
      used_[i].insert(name);
      const double scale = file.scale(f.a.rows()) * adapters_[i].weight;
      LowRank piece{f.a, f.b.slice_rows(begin, outputs), {}, {}};
      piece.scale.assign(static_cast<size_t>(f.a.rows()), static_cast<float>(scale));
      if (order == Order::kHeads) order_heads(file, piece);
      found.push_back(std::move(piece));
    }
    return stack_low_rank(std::move(found), model_.adapter_memory);
  }

  void check_shape(const LoraFile& file, const std::string& name, const LoraFile::Factors& f,
                   int64_t outputs, int64_t inputs) const {
    if (f.b.rows() == outputs && f.a.cols() == inputs) return;
    user_error("{}: {}: factors for a matrix of [{}, {}], the model's is [{}, {}]",
               file.path().string(), printable(name), f.b.rows(), f.a.cols(), outputs, inputs);
  }

  /// Rows of B in the order of the model's own.
  void order_heads(const LoraFile& file, LowRank& piece) {
    const bool gguf = file.format() == CheckpointFormat::kGguf;
    // Of PEFT's factors the model itself says which family they are of.
    const Family* family = gguf ? find_family(file.format(), file.architecture()) : nullptr;
    const bool pairs = family != nullptr ? family->gguf_pairs : hf_pairs();
    if (pairs == model_.config.interleaved_rope) return;
    const int head_dim = model_.config.head_dim, rotary = model_.config.rope.rotary_dim;
    const auto source = [&](int64_t row) {
      const int64_t head = row / head_dim, t = row % head_dim, half = rotary / 2;
      if (t >= rotary) return row;
      const int64_t from = pairs ? (t < half ? 2 * t : 2 * (t - half) + 1)  // pairs to halves
                                 : t / 2 + (t % 2) * half;                  // halves to pairs
      return head * head_dim + from;
    };
    piece.b = reorder_rows(piece.b, source, model_.adapter_memory);
  }

  /// How Hugging Face files of the model's family order Q and K rows.
  bool hf_pairs() const {
    for (const auto format : {CheckpointFormat::kHuggingFace, CheckpointFormat::kGguf}) {
      const Family* family = find_family(format, model_.config.architecture);
      if (family != nullptr) return family->hf_pairs;
    }
    return false;
  }

  void pack() {
    std::vector<LowRank*> all{&model_.head_adapter};
    for (LayerAdapters& a : model_.adapters) {
      all.insert(all.end(), {&a.q, &a.k, &a.v, &a.output, &a.gate, &a.up, &a.down});
    }
    parallel_for(static_cast<int64_t>(all.size()), [&](int64_t i, int) {
      LowRank& adapter = *all[static_cast<size_t>(i)];
      if (!adapter.empty()) adapter.packed_b = PackedOutputs(adapter.b);
    });
  }

  void refuse_unused(size_t i) const {
    const LoraFile& file = adapters_[i].file;
    const TensorNames& names = tensor_names(file.format());
    for (const auto& [name, factors] : file.factors()) {
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
  std::vector<std::set<std::string>> used_;  ///< of each file
};

/// One value of all adapters that have one.
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
  model.shape = std::move(shape);
}

}  // namespace

void attach_adapters(std::span<const WeightedLora> adapters, Model& model) {
  if (adapters.empty()) return;
  override_config(adapters, model);
  Attacher(adapters, model).attach();
}

}  // namespace longhaul
