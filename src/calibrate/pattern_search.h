#pragma once
// Search for MInference's pattern of every query head on whole prompts (arXiv:2407.02490, 3.2).
// Each prompt is read in one pass, so that the prompt's last rows select columns and diagonals, and
// every row from token 2,500 on counts. Of several prompts the search takes the pattern that
// captured most attention, summed over the prompts where it was the best.

#include <memory>
#include <string>
#include <vector>

#include "attention/parts/head_tables.h"
#include "calibrate/calibration.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "eval/data.h"
#include "tokenizer/chat_template.h"

namespace longhaul {

struct PatternSearchSettings {
  std::vector<std::string> tasks;  ///< tasks of `longhaul eval`, in turn
  std::vector<int64_t> lengths;    ///< tokens of a prompt and its reply, in turn
  int prompts = 2;
  uint64_t seed = 1;
  SessionOptions session;  ///< its method and chunk are ignored
  std::optional<ChatTemplate> chat;
};

class PatternSearch final : public Calibration {
 public:
  PatternSearch(std::shared_ptr<const Engine> engine, const EvalData& data,
                const PatternSearchSettings& settings);

  int64_t total() const override { return settings_.prompts; }
  int64_t done() const override { return static_cast<int64_t>(found_.size()); }
  bool advance(const CancelFlag* cancel) override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  /// [layer][query head]; the score is the mean share of attention where the pattern was the best.
  /// Layers with the model's own window get the published fallback. At least one step must be done.
  HeadPatterns patterns() const;

 private:
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  const EvalData& data_;
  PatternSearchSettings settings_;
  std::vector<HeadPatterns> found_;  ///< per prompt
};

/// The pattern of one head from those of several prompts, by the sum of their scores.
HeadPattern most_caught(std::span<const HeadPattern> of_prompts);

}  // namespace longhaul
