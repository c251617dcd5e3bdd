#pragma once
// Trains the gates of DuoAttention for one model by gradient descent (Xiao et al. 2024, section
// 2.2). A gate of a KV head mixes full attention with streaming attention, which attends to only
// the first and the most recent keys (training/gated_attention.h). The prompts contain answers
// (calibrate/answered_prompt.h). At the tokens of the answers, the last hidden states of the model
// with gates are compared with those of the model without gates. The training minimises the
// difference of the hidden states, plus a penalty for large gates.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/answered_prompt.h"
#include "calibrate/calibration.h"
#include "engine/engine.h"
#include "training/adam.h"
#include "training/gated_attention.h"

namespace longhaul {

struct DuoTraining {
  int steps = 200;
  double rate = 0.02;     ///< highest learning rate
  double penalty = 0.05;  ///< weight of the mean gate in the loss
  GatedAttention::Sight sight;
  GatedAttention::Full full = GatedAttention::Full::kOfStream;
  /// Evaluation tasks from which prompts are made, one after another. "passkeys" means
  /// ten_passkeys().
  std::vector<std::string> tasks;
  int words = 32;  ///< number of words of a passkey
  /// Number of tokens of the shortest and the longest prompt.
  int64_t shortest = 1000, longest = 2000;
  uint64_t seed = 1;
  Compute compute = Compute::kBest;
  Queue queue;  ///< queue of the training
};

/// Result of one step.
struct DuoStep {
  int64_t step = 0;  ///< number of the step, from 0
  int64_t tokens = 0, answer_tokens = 0;
  double difference = 0;  ///< mean squared difference of the last hidden states
  double gates = 0;       ///< mean of the gates
  double loss = 0;        ///< difference + penalty * gates
};

/// Trains the gates. Each step uses one prompt.
class DuoTrainer final : public Calibration {
 public:
  /// Throws UserError for an unknown task.
  DuoTrainer(std::shared_ptr<const Engine> engine, const EvalData& data,
             std::optional<ChatTemplate> chat, const DuoTraining& settings);
  ~DuoTrainer() override;

  int64_t total() const override { return settings_.steps; }
  int64_t done() const override { return done_; }
  /// Runs the next step and returns its result.
  DuoStep step();
  /// Runs the next step. Returns false if `cancel` is already set. A step that has begun is always
  /// completed.
  bool advance(const CancelFlag* cancel) override;
  std::string note() const override;  ///< describes the last step of this run
  double tokens_left() const override;

  const Gates& gates() const { return gates_; }
  /// Returns the best gates so far. Consecutive steps form groups, which have at least 10 steps and
  /// at least one step per task. The result is the gates after the group with the lowest mean loss,
  /// or the current gates before the first group is complete.
  const Gates& best() const { return best_.empty() ? gates_ : best_; }

  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

 private:
  AnsweredPrompt prompt(int64_t step) const;
  void descend(const Gates& gradient);
  void remember(double loss);
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  const EvalData& data_;
  std::optional<ChatTemplate> chat_;
  DuoTraining settings_;
  FrozenDecoder decoder_;
  Array<float> d_;  // gradient with respect to the residual stream
  Gates gates_, best_;
  std::vector<double> losses_;  // losses of all steps
  double least_ = 0;            // mean loss of best_
  Adam adam_;
  int64_t done_ = 0;
  std::optional<DuoStep> last_;
};

}  // namespace longhaul
