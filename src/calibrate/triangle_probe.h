#pragma once
// Finds the layers in which the middle of a prompt can use triangle attention, by probing gradients
// (TriangleMix 2025, section 3).

#include <memory>
#include <optional>
#include <vector>

#include "calibrate/calibration.h"
#include "engine/engine.h"
#include "ops/grad/attention_backward.h"
#include "ops/matmul/linear.h"
#include "tokenizer/chat_template.h"
#include "training/frozen_decoder.h"

namespace longhaul {

struct TriangleProbe {
  int prompts = 100;
  int64_t tokens = 2000;  ///< approximate number of tokens per prompt
  uint64_t seed = 1;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as in the publication
  Compute compute = Compute::kF32;
  Queue queue;  ///< queue of the computation
  ProbedRegions regions;
};

/// The change of a logit when a layer's softmax weights in a region are scaled. The logit is that
/// of the first token of the expected value. The change is averaged over the pairs of the region,
/// the query heads and the prompts.
struct LayerGradients {
  PairSums streaming, last, middle;
};

struct ProbedLayers {
  std::vector<LayerGradients> layers;
  /// Number of prompts, and number of prompts whose most likely token was the expected one.
  int asked = 0, right = 0;
  int64_t tokens = 0;  ///< total tokens of all prompts
};

class TriangleSearch final : public Calibration {
 public:
  /// Throws UserError for a model that the backward pass does not support (FrozenDecoder).
  TriangleSearch(std::shared_ptr<const Engine> engine, const TriangleProbe& probe);

  int64_t total() const override { return probe_.prompts; }
  int64_t done() const override { return sums_.asked; }
  /// Probes with one prompt. The step cannot be cancelled. Throws UserError if `tokens` is too
  /// small for a prompt.
  bool advance(const CancelFlag* cancel) override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  /// Returns the means over the prompts so far.
  ProbedLayers found() const;

 private:
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  TriangleProbe probe_;
  FrozenDecoder decoder_;
  ProbedLayers sums_;
};

/// Returns the layers sorted by the gradient of their middle region, smallest first. With
/// `magnitudes`, the mean of the magnitudes is used, and otherwise the signed mean. Layers with a
/// sliding window in the model itself are excluded. With `magnitudes` the last layer is also
/// excluded: only its last row is used, so the gradient of its middle is always zero.
std::vector<int> rank_layers(const ProbedLayers& found, const ModelShape& shape, bool magnitudes);

}  // namespace longhaul
