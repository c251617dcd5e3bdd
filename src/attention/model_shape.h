#pragma once
// What attention methods may know of a model.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/nth.h"
#include "ops/attention.h"

namespace longhaul {

/// What methods that look at the text itself may know of a token.
enum class TokenClass : uint8_t { kOther, kSpecial, kPunctuation };

struct ModelShape {
  int layers = 0;
  int heads = 0;              ///< query heads
  std::vector<int> kv_heads;  ///< per layer
  int head_dim = 0;
  float scale = 0;  ///< of the logits, usually 1 / sqrt(head_dim)
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer: the model's own sliding window, 0 for none
  RopeTable rope;
  RopeTable other_rope;               ///< of layers whose positions turn otherwise, or not at all
  std::vector<uint8_t> other_angles;  ///< per layer: 1 where they do; empty: in none
  float cap = 0;                      ///< of the logits (AttendCall::cap)
  std::vector<View<const float>> sinks;   ///< per layer [heads] (AttendCall::sinks); empty: none
  std::string profile_prefix;             ///< of profiles (profile_path); empty: none
  std::vector<TokenClass> token_classes;  ///< by token id; empty: not known
  /// Of devices that have the model's heads between them (base/team.h); heads are those of this
  /// one.
  int member = 0, members = 1;

  int64_t own_window(int layer) const { return nth(window, layer); }
  int lists(int layer) const { return nth(kv_heads, layer); }
  /// Query heads of the whole model, and its KV heads per layer.
  int all_heads() const { return heads * members; }
  std::vector<int> all_kv_heads() const {
    std::vector<int> all = kv_heads;
    for (int& count : all) count *= members;
    return all;
  }
  /// Takes something for every head of the whole model, [layer][head], and returns what is for the
  /// heads of this device.
  template <class T>
  std::vector<std::vector<T>> of_own_heads(std::vector<std::vector<T>> all) const {
    for (std::vector<T>& layer : all) {
      const auto own = std::ssize(layer) / members;
      layer = std::vector<T>(layer.begin() + own * member, layer.begin() + own * (member + 1));
    }
    return all;
  }
  /// Which of the two tables turns the layer's positions.
  int rope_number(int layer) const { return other_angles.empty() ? 0 : nth(other_angles, layer); }
  const RopeTable& rope_of(int layer) const { return rope_number(layer) == 0 ? rope : other_rope; }

  /// An operation on rows of the model's query heads; queries and outputs are for the caller.
  AttendCall call(Queue& queue) const {
    AttendCall call;
    call.queue = &queue;
    call.heads = heads;
    call.head_dim = head_dim;
    call.scale = scale;
    call.cap = cap;
    return call;
  }
};

/// What is kept for each of a model's tables of angles, so that layers that take turns do not make
/// it anew.
template <class T>
class PerRope {
 public:
  T& of(const ModelShape& shape, int layer) { return nth(kept_, shape.rope_number(layer)); }

 private:
  std::array<T, 2> kept_;
};

}  // namespace longhaul
