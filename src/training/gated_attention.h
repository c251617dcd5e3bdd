#pragma once
// Attention with a gate for every KV head, as DuoAttention trains it (Xiao et al. 2024, section
// 2.2): out = a * full + (1 - a) * streaming.

#include <vector>

#include "base/nth.h"
#include "training/frozen_decoder.h"

namespace longhaul {

/// [layer][KV head], within [0, 1] where they are used.
using Gates = std::vector<std::vector<float>>;

/// Full attention of every layer: the text as the model itself reads it.
class FullAttention final : public AttentionRule {
 public:
  /// `keep`: every layer's output stays, for GatedAttention::Full::kOfModel.
  FullAttention(const FrozenDecoder& decoder, AttendCompute compute, bool keep)
      : decoder_(decoder), attend_(decoder.queue(), compute), keep_(keep) {}

  void forward(int layer, const AttentionRows& rows, View<float> mixed) override;
  void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                const AttentionRowGradients& d) override;

  /// [rows, heads * head_dim] of a layer, where they are kept.
  View<const float> output(int layer) const { return nth(outputs_, layer).view(); }
  /// log-sum-exp [rows, heads] of the layer that forward() was called for last.
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
    kOfStream,  ///< of the gated stream's own rows: the paper's formula
    kOfModel    ///< of the rows of a text that was read without gates: the authors' code
  };
  struct Sight {
    int64_t sink = 128,
            recent = 256;  ///< keys that streaming attention sees; a row's own is recent
  };

  /// `model`: the same text without gates, kept, for Full::kOfModel; else null.
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
  std::vector<Array<float>> gradient_;  // of every layer's gates
  Array<float> shares_;                 // of full or of streaming attention, in one layer
  // Of the layer that forward() was called for last.
  Array<float> full_, full_lse_, streaming_, streaming_lse_, part_;
};

}  // namespace longhaul
