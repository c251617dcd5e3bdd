#pragma once
// The properties of a model that attention methods may depend on.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/nth.h"
#include "ops/attention/attention.h"

namespace longhaul {

/// Classes of tokens, for methods that look at the text itself.
enum class TokenClass : uint8_t { kOther, kSpecial, kPunctuation };

struct ModelShape {
  int layers = 0;
  int heads = 0;               ///< query heads
  std::vector<int> kv_heads;   ///< per layer
  int head_dim = 0;            ///< largest of all layers
  std::vector<int> head_dims;  ///< per layer; empty: head_dim in all layers
  /// The value of a row is its key, which is stored once: multi-head latent attention, whose query
  /// heads all share one latent KV head.
  bool values_in_keys = false;
  float scale = 0;  ///< factor of the logits, usually 1 / sqrt(head_dim)
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer: the model's own sliding window, 0 for none
  RopeTable rope;
  RopeTable other_rope;               ///< for layers with other angles, or without rotation
  std::vector<uint8_t> other_angles;  ///< per layer: 1 if it uses other_rope; empty: no layer does
  float cap = 0;                      ///< soft cap of the logits (AttendCall::cap)
  std::vector<View<const float>> sinks;  ///< per layer [heads] (AttendCall::sinks); empty: none
  std::string profile_prefix;  ///< prefix of profile file names (profile_path); empty: no profiles
  /// By token id; null if unknown. All copies of the shape share them.
  std::shared_ptr<const std::vector<TokenClass>> token_classes;
  /// Rank and number of the devices that share the model's heads (base/communicator.h). `heads` and
  /// `kv_heads` count only this device's heads.
  int rank = 0, ranks = 1;

  int64_t own_window(int layer) const { return nth(window, layer); }
  int lists(int layer) const { return nth(kv_heads, layer); }
  int dim_of(int layer) const { return head_dims.empty() ? head_dim : nth(head_dims, layer); }
  /// Query heads of the whole model, and its KV heads per layer.
  int all_heads() const { return heads * ranks; }
  std::vector<int> all_kv_heads() const {
    std::vector<int> all = kv_heads;
    for (int& count : all) count *= ranks;
    return all;
  }
  /// Takes values for every head of the whole model, [layer][head], and returns those of this
  /// device's heads.
  template <class T>
  std::vector<std::vector<T>> of_own_heads(std::vector<std::vector<T>> all) const {
    for (std::vector<T>& layer : all) {
      const auto own = std::ssize(layer) / ranks;
      layer = std::vector<T>(layer.begin() + own * rank, layer.begin() + own * (rank + 1));
    }
    return all;
  }
  /// Index of the rope table that rotates the layer's positions.
  int rope_number(int layer) const { return other_angles.empty() ? 0 : nth(other_angles, layer); }
  const RopeTable& rope_of(int layer) const { return rope_number(layer) == 0 ? rope : other_rope; }

  /// The parameters of an attention operation on a layer's query heads. The caller adds queries
  /// and outputs.
  AttendCall call(Queue& queue, int layer) const {
    AttendCall call;
    call.queue = &queue;
    call.heads = heads;
    call.head_dim = dim_of(layer);
    call.scale = scale;
    call.cap = cap;
    return call;
  }
};

/// Holds one cached value per rope table of the model, so that alternating layers do not recompute
/// it.
template <class T>
class PerRope {
 public:
  T& of(const ModelShape& shape, int layer) { return nth(kept_, shape.rope_number(layer)); }

 private:
  std::array<T, 2> kept_;
};

}  // namespace longhaul
