#pragma once
// Finds the layers in which triangle attention harms a model least (TriangleMix 2025, section 3).
// Triangle attention leaves out the middle region of the attention matrix. The search computes how
// much the logit of the correct answer changes with the attention in this region (a gradient).

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
  std::optional<ChatTemplate> chat;  ///< none: bare text, as in TriangleMix's paper
  Compute compute = Compute::kF32;
  Queue queue;  ///< queue of the computation
  ProbedRegions regions;
};

/// The gradients of a logit in one layer, for each of three regions of the attention matrix
/// (ProbedRegions). The logit is that of the first token of the expected answer. The gradient of a
/// region is the derivative of this logit with respect to a common factor of the attention
/// probabilities in the region. It is averaged over the (query, key) pairs of the region, the query
/// heads and the prompts.
struct LayerGradients {
  PairSums streaming, last, middle;
};

struct ProbedLayers {
  std::vector<LayerGradients> layers;
  /// Number of prompts, and number of prompts for which the expected token was the most likely one.
  int asked = 0, right = 0;
  int64_t tokens = 0;  ///< total tokens of all prompts
};

class TriangleSearch final : public Calibration {
 public:
  /// Throws UserError if FrozenDecoder does not support the model.
  TriangleSearch(std::shared_ptr<const Engine> engine, const TriangleProbe& probe);

  int64_t total() const override { return probe_.prompts; }
  int64_t done() const override { return sums_.asked; }
  /// Computes the gradients for one prompt. Returns false if `cancel` is already set; a step that
  /// has begun is always completed. Throws UserError if TriangleProbe::tokens is too small for a
  /// prompt.
  bool advance(const CancelFlag* cancel) override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  /// Returns the gradients, averaged over the prompts so far.
  ProbedLayers found() const;

 private:
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  TriangleProbe probe_;
  FrozenDecoder decoder_;
  ProbedLayers sums_;
};

/// Returns the layers sorted by the gradient of their middle region, smallest first. If
/// `magnitudes` is true, the mean of the magnitudes is used, and otherwise the signed mean. Layers
/// to which the model itself gives a sliding window are left out. With `magnitudes`, the last layer
/// is also left out: the logit depends only on its last query, so the gradient of its middle region
/// is always zero.
std::vector<int> rank_layers(const ProbedLayers& found, const ModelShape& shape, bool magnitudes);

}  // namespace longhaul
