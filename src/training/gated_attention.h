#pragma once
// Attention with a gate for every KV head, as trained by DuoAttention (Xiao et al. 2024, section
// 2.2): out = a * full + (1 - a) * streaming.

#include <vector>

#include "base/nth.h"
#include "training/frozen_decoder.h"

namespace longhaul {

/// [layer][KV head], clamped to [0, 1] when used.
using Gates = std::vector<std::vector<float>>;

/// Full attention in every layer, as the model itself computes it.
class FullAttention final : public AttentionRule {
 public:
  /// `keep` stores every layer's output, for GatedAttention::Full::kOfModel.
  FullAttention(const FrozenDecoder& decoder, AttendCompute compute, bool keep)
      : decoder_(decoder), attend_(decoder.queue(), compute), keep_(keep) {}

  void forward(int layer, const AttentionRows& rows, View<float> mixed) override;
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override;

  /// [rows, heads * head_dim] of a layer, if stored.
  View<const float> output(int layer) const { return nth(outputs_, layer).view(); }
  /// log-sum-exp [rows, heads] of the layer in the last call of forward().
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
  enum class Full : uint8_t {
    kOfStream,  ///< from the gated stream's own rows: the paper's formula
    kOfModel    ///< from the rows of the text read without gates: the authors' code
  };
  struct Sight {
    int64_t sink = 128,
            recent = 256;  ///< keys seen by streaming attention; a row's own key counts as recent
  };

  /// `model` is the same text read without gates, with outputs stored, for Full::kOfModel;
  /// otherwise null.
  GatedAttention(const FrozenDecoder& decoder, AttendCompute compute, const Gates& gates,
                 const Sight& sight, const FullAttention* model);

  void forward(int layer, const AttentionRows& rows, View<float> mixed) override;
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override;

  /// The gradient with respect to the gates, summed over all backward passes so far.
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
  std::vector<Array<float>> gradient_;  // per layer, for its gates
  Array<float> shares_;                 // weights of full or of streaming attention in one layer
  // Results for the layer in the last call of forward().
  Array<float> full_, full_lse_, streaming_, streaming_lse_, part_;
};

}  // namespace longhaul
