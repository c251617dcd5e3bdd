#pragma once
// ModelShape holds the properties of a model on which attention methods may depend.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/nth.h"
#include "ops/attention/attention.h"

namespace longhaul {

/// Classes of tokens. Methods may treat rows by the class of their token.
enum class TokenClass : uint8_t { kOther, kSpecial, kPunctuation };

struct ModelShape {
  int layers = 0;
  int heads = 0;               ///< number of query heads
  std::vector<int> kv_heads;   ///< per layer: number of KV heads
  int head_dim = 0;            ///< largest of all layers
  std::vector<int> head_dims;  ///< per layer; if empty, all layers have head_dim
  /// True for multi-head latent attention: the stored key of a row is also its value. All query
  /// heads share one latent KV head.
  bool values_in_keys = false;
  float scale = 0;              ///< factor of the attention logits, usually 1 / sqrt(head_dim)
  int64_t trained_context = 0;  ///< context length for which the model was trained
  /// Per layer: the sliding window of the model itself, in tokens; 0: none.
  std::vector<int64_t> window;
  /// Whether `window` holds lengths of chunks instead of sliding windows: a query row at position p
  /// of a layer with chunk length w sees the rows from position p - p % w on.
  bool chunked = false;
  RopeTable rope;  ///< RoPE frequencies
  /// RoPE frequencies of layers whose rotation differs. The table may describe that keys are not
  /// rotated.
  RopeTable other_rope;
  /// Per layer: 1 if the layer uses other_rope; empty: no layer does.
  std::vector<uint8_t> other_angles;
  float cap = 0;  ///< soft cap of the attention logits (AttendCall::cap); 0: none
  /// Per layer: attention sink logits, [heads] (AttendCall::sinks); empty: none.
  std::vector<View<const float>> sinks;
  /// Per layer, [head_dim]: factors by which the elements of each query are multiplied after
  /// rotation; empty: none.
  std::vector<View<const float>> query_weights;
  /// Path prefix of this model's method profiles (attention/profile.h); empty: the model has none.
  std::string profile_prefix;
  /// Class of each token id; null if unknown. All copies of a ModelShape share the vector.
  std::shared_ptr<const std::vector<TokenClass>> token_classes;
  /// The heads of the model are split over `ranks` devices, and `rank` is the index of this device
  /// (base/communicator.h). `heads` and `kv_heads` count only the heads of this device.
  int rank = 0, ranks = 1;

  int64_t own_window(int layer) const { return nth(window, layer); }
  /// Returns the first position that a query row at `position` sees in a layer, given the model's
  /// own window.
  int64_t first_visible(int layer, int64_t position) const {
    const int64_t own = own_window(layer);
    if (own == 0) return 0;
    return chunked ? position - position % own : std::max<int64_t>(0, position - own + 1);
  }
  /// Returns the number of lists in a layer if each KV head has one. A list holds the stored rows
  /// of a head in one layer (attention/plan.h).
  int lists(int layer) const { return nth(kv_heads, layer); }
  int dim_of(int layer) const { return head_dims.empty() ? head_dim : nth(head_dims, layer); }
  /// Return the number of query heads, and of KV heads per layer, of the whole model over all
  /// ranks.
  int all_heads() const { return heads * ranks; }
  std::vector<int> all_kv_heads() const {
    std::vector<int> all = kv_heads;
    for (int& count : all) count *= ranks;
    return all;
  }
  /// Returns the elements of `all` that belong to the heads of this device, [layer][head]. `all`
  /// has an element for each head of the whole model.
  template <class T>
  std::vector<std::vector<T>> of_own_heads(std::vector<std::vector<T>> all) const {
    for (std::vector<T>& layer : all) {
      const auto own = std::ssize(layer) / ranks;
      layer = std::vector<T>(layer.begin() + own * rank, layer.begin() + own * (rank + 1));
    }
    return all;
  }
  /// Returns the index of the RoPE table of a layer: 0 for `rope`, 1 for `other_rope`.
  int rope_number(int layer) const { return other_angles.empty() ? 0 : nth(other_angles, layer); }
  const RopeTable& rope_of(int layer) const { return rope_number(layer) == 0 ? rope : other_rope; }

  /// Returns an attention call with the parameters of a layer. The caller sets queries and outputs.
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

/// Stores one object for each of the model's two RoPE tables, such as a table of rotations. Layers
/// that use the two tables alternately therefore do not recompute the object each time.
template <class T>
class PerRope {
 public:
  T& of(const ModelShape& shape, int layer) { return nth(kept_, shape.rope_number(layer)); }

 private:
  std::array<T, 2> kept_;
};

}  // namespace longhaul
