#include "model/layer_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "format/checkpoint.h"

namespace longhaul {
namespace {

using nlohmann::json;

bool has_window(const ModelConfig& c, int layer) { return nth(c.window, layer) > 0; }

/// Sets c.kv_layer: each of the last `shared` layers uses the keys and values of the last layer of
/// its kind before these layers.
void share_last_layers(const std::string& file, const std::string& key, int shared,
                       ModelConfig& c) {
  if (shared == 0) return;
  const int own = c.layers - shared;
  for (int l = 0; l < c.layers; ++l) c.kv_layer.push_back(l);
  for (int l = std::max(own, 0); l < c.layers; ++l) {
    int from = own - 1;
    while (from >= 0 && has_window(c, from) != has_window(c, l)) --from;
    if (from < 0) {
      user_error("{}: {} is {}: no earlier layer {} a window has keys and values for layer {}",
                 file, key, shared, has_window(c, l) ? "with" : "without", l);
    }
    nth(c.kv_layer, l) = from;
  }
}

void set_kinds(int window_dim, int full_dim, int window_heads, int full_heads, ModelConfig& c) {
  for (int l = 0; l < c.layers; ++l) {
    c.head_dims.push_back(has_window(c, l) ? window_dim : full_dim);
    nth(c.kv_heads, l) = has_window(c, l) ? window_heads : full_heads;
  }
  c.head_dim = std::max(window_dim, full_dim);
  c.other_rope.rotary_dim = window_dim;
}

/// Reads settings of single layers, as transformers 5 writes them: {"5": {"head_dim": 512}}. They
/// must be equal in all layers without a window.
class LayerSettings {
 public:
  LayerSettings(const ConfigFields& fields, const ModelConfig& c) : fields_(fields), c_(c) {}

  int of_full_layers(const char* key, const char* older, int usual) const {
    if (!fields_.has(kKey)) return fields_.has(older) ? fields_.integer(older) : usual;
    const json& all = fields_.object().at(kKey);
    if (!all.is_object()) wrong(printable(all.dump()));
    int value = -1;
    for (const auto& [name, own] : all.items()) {
      const int layer = number(name);
      const ConfigFields layer_fields(fmt::format("{}: {}[{}]", fields_.file(), kKey, layer), own);
      if (!own.is_object()) wrong(printable(name));
      const int found = layer_fields.has(key) ? layer_fields.integer(key) : usual;
      if (has_window(c_, layer) ? found != fields_.integer(key) : value >= 0 && value != found) {
        user_error("{}: {} is {}, unlike that of other layers of its kind", layer_fields.file(),
                   key, found);
      }
      if (!has_window(c_, layer)) value = found;
    }
    return value >= 0 ? value : usual;
  }

 private:
  static constexpr const char* kKey = "per_layer_config";

  [[noreturn]] void wrong(const std::string& found) const {
    user_error("{}: '{}' holds {}, expected settings by number of a layer below {}", fields_.file(),
               kKey, found, c_.layers);
  }
  int number(const std::string& name) const {
    int layer = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
    if (error != std::errc() || end != name.data() + name.size() || layer < 0 || layer >= c_.layers)
      wrong(printable(name));
    return layer;
  }

  const ConfigFields& fields_;
  const ModelConfig& c_;
};

}  // namespace

void read_layer_kinds(const ConfigFields& fields, ModelConfig& c) {
  const int window_dim = c.head_dim, window_heads = c.kv_heads.front();
  const LayerSettings settings(fields, c);
  const bool by_list = fields.has("per_layer_config");
  const int full_dim =
      settings.of_full_layers("head_dim", "global_head_dim", by_list ? window_dim : 512);
  const bool alike = fields.flag("attention_k_eq_v");
  const int full_heads = by_list || alike
                             ? settings.of_full_layers("num_key_value_heads",
                                                       "num_global_key_value_heads", window_heads)
                             : window_heads;
  set_kinds(window_dim, full_dim, window_heads, full_heads, c);
  if (alike) {
    for (int l = 0; l < c.layers; ++l) c.key_values.push_back(has_window(c, l) ? 0 : 1);
  }
  const int shared = fields.integer("num_kv_shared_layers");
  share_last_layers(fields.file(), "num_kv_shared_layers", shared, c);
  if (fields.flag("use_double_wide_mlp")) {
    for (int l = 0; l < c.layers; ++l) {
      c.dense_ffns.push_back(std::min(c.ffn, 1 << 24) * (c.shares_kv(l) ? 2 : 1));
    }
  }
  c.layer_input = fields.integer("hidden_size_per_layer_input");
  const int rows = fields.integer("vocab_size_per_layer_input");
  if (c.layer_input > 0 && rows < c.vocab) {
    user_error("{}: vocab_size_per_layer_input is {}, fewer than vocab_size {}", fields.file(),
               rows, c.vocab);
  }
}

void read_layer_kinds(const GgufKeys& keys, const Checkpoint& checkpoint, ModelConfig& c) {
  const int full_dim = c.head_dim;
  const int window_dim = keys.size_or("attention.key_length_swa", full_dim);
  const int window_values = keys.size_or("attention.value_length_swa", window_dim);
  if (window_values != window_dim) {
    user_error("{}: {} is {} and {} is {}: different sizes are not supported", keys.file(),
               keys.key("attention.key_length_swa"), window_dim,
               keys.key("attention.value_length_swa"), window_values);
  }
  for (int l = 0; l < c.layers; ++l) {
    c.head_dims.push_back(has_window(c, l) ? window_dim : full_dim);
    const bool values = checkpoint.find(fmt::format("blk.{}.attn_v.weight", l)) != nullptr ||
                        checkpoint.find(fmt::format("blk.{}.attn_qkv.weight", l)) != nullptr;
    c.key_values.push_back(values ? 0 : 1);
  }
  c.head_dim = std::max(window_dim, full_dim);
  c.other_rope.rotary_dim = keys.size_or("rope.dimension_count_swa", window_dim);
  const int shared = keys.size_or("attention.shared_kv_layers", 0);
  share_last_layers(keys.file(), keys.key("attention.shared_kv_layers"), shared, c);
  c.layer_input = keys.size_or("embedding_length_per_layer_input", 0);
}

}  // namespace longhaul
