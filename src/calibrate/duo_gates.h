#pragma once
// Gates of DuoAttention for one model, found by gradient descent (Xiao et al. 2024, section 2.2).
// In the rows of the answers, the last hidden states of a text read with gates should equal those
// of the model itself, with gates as small as possible.

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
  double penalty = 0.05;  ///< weight of the mean gate, relative to the mean squared difference
  GatedAttention::Sight sight;
  GatedAttention::Full full = GatedAttention::Full::kOfStream;
  /// tasks of `longhaul eval`, in turn; "passkeys": ten_passkeys()
  std::vector<std::string> tasks;
  int words = 32;                           ///< words per passkey
  int64_t shortest = 1000, longest = 2000;  ///< tokens of a prompt
  uint64_t seed = 1;
  Compute compute = Compute::kBest;
  Queue queue;  ///< device of the training
};

struct DuoStep {
  int64_t step = 0;  ///< from 0
  int64_t tokens = 0, answer_tokens = 0;
  double difference = 0;  ///< mean squared difference of the last hidden states
  double gates = 0;       ///< mean of the gates
  double loss = 0;        ///< difference + penalty * gates
};

class DuoTrainer final : public Calibration {
 public:
  /// UserError for an unknown task.
  DuoTrainer(std::shared_ptr<const Engine> engine, const EvalData& data,
             std::optional<ChatTemplate> chat, const DuoTraining& settings);
  ~DuoTrainer() override;

  int64_t total() const override { return settings_.steps; }
  int64_t done() const override { return done_; }
  DuoStep step();
  /// Variant of step(); a step is never cancelled.
  bool advance(const CancelFlag* cancel) override;
  std::string note() const override;  ///< describes the last step of this run
  double tokens_left() const override;

  const Gates& gates() const { return gates_; }
  /// The gates to keep when training stops early: those after the stretch of steps with the lowest
  /// mean loss. A stretch has one step per task, and at least 10. Before the first stretch is
  /// complete these are the present gates.
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
  Array<float> d_;  // gradient of the residual stream
  Gates gates_, best_;
  std::vector<double> losses_;  // losses of all steps
  double least_ = 0;            // mean loss of best_
  Adam adam_;
  int64_t done_ = 0;
  std::optional<DuoStep> last_;
};

}  // namespace longhaul
