#pragma once
// Which layers may read the middle of a prompt by triangles: gradient probing (TriangleMix 2025,
// section 3).

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/cancel.h"
#include "engine/engine.h"
#include "ops/attention_backward.h"
#include "ops/linear.h"
#include "tokenizer/chat_template.h"

namespace longhaul {

struct TriangleProbe {
  int prompts = 100;
  int64_t tokens = 2000;  ///< of a prompt, about
  uint64_t seed = 1;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as published
  Compute compute = Compute::kF32;
  ProbedRegions regions;
  const CancelFlag* cancel = nullptr;
  std::function<void(int done, int total)> progress;
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

/// UserError when --tokens is too short for a prompt, or the model has no layer without a window of
/// its own.
ProbedLayers probe_layers(const std::shared_ptr<const Engine>& engine, const TriangleProbe& probe);

/// Layers by the gradient of their middle, the least first: its signed mean, or that of magnitudes.
/// Those with a window of the model's own are left out, and so is the last layer where magnitudes
/// count: only its last row is read, so that its middle is zero whatever it does.
std::vector<int> rank_layers(const ProbedLayers& found, const ModelShape& shape, bool magnitudes);

}  // namespace longhaul
