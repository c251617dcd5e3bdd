#pragma once
// Gradient probing for layers that can read the middle of a prompt with triangles (TriangleMix
// 2025, section 3).

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
  int64_t tokens = 2000;  ///< approximate tokens per prompt
  uint64_t seed = 1;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as published
  Compute compute = Compute::kF32;
  Queue queue;  ///< device of the probing
  ProbedRegions regions;
};

/// Change of the logit of the expected value's first token when a layer's softmax weights in a
/// region are scaled, averaged over the region's pairs, query heads and prompts.
struct LayerGradients {
  PairSums streaming, last, middle;
};

struct ProbedLayers {
  std::vector<LayerGradients> layers;
  /// number of prompts, and of those whose most likely token was the expected one
  int asked = 0, right = 0;
  int64_t tokens = 0;  ///< total of all prompts
};

class TriangleSearch final : public Calibration {
 public:
  /// UserError for a model that the backward pass does not support (FrozenDecoder).
  TriangleSearch(std::shared_ptr<const Engine> engine, const TriangleProbe& probe);

  int64_t total() const override { return probe_.prompts; }
  int64_t done() const override { return sums_.asked; }
  /// Probes with one prompt, which cannot be cancelled. UserError if `tokens` is too short for one.
  bool advance(const CancelFlag* cancel) override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  /// Means over the prompts so far.
  ProbedLayers found() const;

 private:
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  TriangleProbe probe_;
  FrozenDecoder decoder_;
  ProbedLayers sums_;
};

/// Layers sorted by the gradient of their middle, smallest first: by its signed mean, or by that of
/// magnitudes. Layers with the model's own window are excluded. With magnitudes so is the last
/// layer: only its last row is read, so its middle is always zero.
std::vector<int> rank_layers(const ProbedLayers& found, const ModelShape& shape, bool magnitudes);

}  // namespace longhaul
