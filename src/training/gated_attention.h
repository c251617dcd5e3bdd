#pragma once
// Computes attention with a gate for every KV head, as DuoAttention trains it (Xiao et al. 2024,
// section 2.2): out = a * full + (1 - a) * streaming. `full` is attention over all keys.
// `streaming` is attention over the first and the most recent keys.

#include <vector>

#include "base/nth.h"
#include "training/frozen_decoder.h"

namespace longhaul {

/// Gates, [layer][KV head]. Values are limited to 0 to 1 when they are used.
using Gates = std::vector<std::vector<float>>;

/// Full attention in every layer, as the model itself computes it.
class FullAttention final : public AttentionRule {
 public:
  /// If `keep` is true, the outputs of all layers are stored, for GatedAttention::Full::kOfModel.
  FullAttention(const FrozenDecoder& decoder, AttendCompute compute, bool keep)
      : decoder_(decoder), attend_(decoder.queue(), compute), keep_(keep) {}

  void forward(int layer, const AttentionRows& rows, View<float> mixed) override;
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override;

  /// Returns the stored output of a layer, [rows, heads * head_dim].
  View<const float> output(int layer) const { return nth(outputs_, layer).view(); }
  /// Returns the log of the softmax denominators, [rows, heads], of the last call of forward().
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
  /// Selects the text from which full attention is computed.
  enum class Full : uint8_t {
    kOfStream,  ///< the text in the model with gates (formula of the paper)
    kOfModel    ///< the text in the model without gates (code of the authors)
  };
  /// The keys that streaming attention sees: the first `sink` keys, and the last `recent` keys
  /// including the row's own key.
  struct Sight {
    int64_t sink = 128, recent = 256;
  };

  /// For Full::kOfModel, `model` holds the outputs of the same text without gates. Otherwise it is
  /// null.
  GatedAttention(const FrozenDecoder& decoder, AttendCompute compute, const Gates& gates,
                 const Sight& sight, const FullAttention* model);

  void forward(int layer, const AttentionRows& rows, View<float> mixed) override;
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override;

  /// Returns the gradient with respect to the gates, summed over all backward passes so far.
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
  Array<float> shares_;                 // factors of full or of streaming attention in one layer
  // Results for the layer in the last call of forward().
  Array<float> full_, full_lse_, streaming_, streaming_lse_, part_;
};

}  // namespace longhaul
