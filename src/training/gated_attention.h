#pragma once
// Computes attention with a gate a for every KV head, as DuoAttention does for training (Xiao et
// al. 2024, section 2.2). The output is a * full + (1 - a) * streaming. `full` is the output of
// attention over all keys. `streaming` is the output of attention over only the first and the most
// recent keys.

#include <vector>

#include "base/nth.h"
#include "training/frozen_decoder.h"

namespace longhaul {

/// Gates, [layer][KV head]. A gate below 0 or above 1 counts as 0 or 1.
using Gates = std::vector<std::vector<float>>;

/// Full attention in every layer, as the model itself computes it.
class FullAttention final : public AttentionRule {
 public:
  /// If `keep` is true, stores the outputs of all layers, which GatedAttention::Full::kOfModel
  /// needs.
  FullAttention(const FrozenDecoder& decoder, AttendCompute compute, bool keep)
      : decoder_(decoder), attend_(decoder.queue(), compute), keep_(keep) {}

  void forward(int layer, const AttentionRows& rows, View<float> mixed) override;
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override;

  /// Returns the stored output of a layer, [tokens, heads * head_dim].
  View<const float> output(int layer) const { return nth(outputs_, layer).view(); }
  /// Returns the logs of the softmax denominators, [tokens, heads], of the preceding forward().
  View<const float> lse() const { return lse_.view(); }

 private:
  const FrozenDecoder& decoder_;
  TextAttend attend_;
  bool keep_;
  Array<float> lse_, last_;
  std::vector<Array<float>> outputs_;
};

class GatedAttention final : public AttentionRule {
 public:
  /// Selects how `full`, the output of full attention, is obtained.
  enum class Full : uint8_t {
    /// Computed from the queries, keys and values of the model with gates (formula in the paper).
    kOfStream,
    kOfModel  ///< stored by a forward pass of the model without gates (authors' code)
  };
  /// The keys of streaming attention: the first `sink` keys, and the last `recent` keys including
  /// the token's own key.
  struct Sight {
    int64_t sink = 128, recent = 256;
  };

  /// For Full::kOfModel, `model` must have stored the attention outputs of a forward pass over the
  /// same text without gates. For Full::kOfStream, `model` is null.
  GatedAttention(const FrozenDecoder& decoder, AttendCompute compute, const Gates& gates,
                 const Sight& sight, const FullAttention* model);

  void forward(int layer, const AttentionRows& rows, View<float> mixed) override;
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override;

  /// Returns the gradient of the loss with respect to the gates, summed over all backward passes so
  /// far.
  Gates gradient() const;

 private:
  View<const float> full_rows(int layer) const;
  TextAttention streaming(int layer) const;
  View<const float> shares(int layer, bool of_full);

  const FrozenDecoder& decoder_;
  TextAttend attend_;
  const Gates& gates_;
  Sight sight_;
  const FullAttention* model_;
  std::vector<Array<float>> gradient_;  // per layer: gradient with respect to its gates
  Array<float> shares_;                 // in one layer: the factors a or 1 - a of the heads
  // full_ to streaming_lse_ are the outputs and the logs of the softmax denominators of the layer
  // in the preceding forward(). part_ is the gradient with respect to one of the two outputs in
  // backward().
  Array<float> full_, full_lse_, streaming_, streaming_lse_, part_;
};

}  // namespace longhaul
