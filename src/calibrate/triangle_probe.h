#pragma once
// Which layers may read the middle of a prompt by triangles: gradient probing (TriangleMix 2025,
// section 3).

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
  int64_t tokens = 2000;  ///< of a prompt, about
  uint64_t seed = 1;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as published
  Compute compute = Compute::kF32;
  Queue queue;  ///< where it runs
  ProbedRegions regions;
};

/// How much the logit of the wanted value's first token changes when a layer's softmax weights in a
/// region are scaled: the mean over the region's pairs, query heads and prompts.
struct LayerGradients {
  PairSums streaming, last, middle;
};

struct ProbedLayers {
  std::vector<LayerGradients> layers;
  int asked = 0, right = 0;  ///< prompts; those whose likeliest token was the wanted one
  int64_t tokens = 0;        ///< of all prompts
};

class TriangleSearch final : public Calibration {
 public:
  /// UserError for a model that computes more than the backward pass knows (FrozenDecoder).
  TriangleSearch(std::shared_ptr<const Engine> engine, const TriangleProbe& probe);

  int64_t total() const override { return probe_.prompts; }
  int64_t done() const override { return sums_.asked; }
  /// Probes with a prompt, which is not cancelled. UserError when `tokens` is too short for one.
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

/// Layers by the gradient of their middle, the least first: its signed mean, or that of magnitudes.
/// Those with a window of the model's own are left out, and so is the last layer where magnitudes
/// count: only its last row is read, so that its middle is zero whatever it does.
std::vector<int> rank_layers(const ProbedLayers& found, const ModelShape& shape, bool magnitudes);

}  // namespace longhaul
