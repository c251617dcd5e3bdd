#pragma once
// Finds the pattern of MInference for every query head, on whole prompts (arXiv:2407.02490, section
// 3.2). Each prompt is processed in one pass, so the last rows of the prompt select columns and
// diagonals. All rows from token 2,500 on are evaluated. If there are several prompts, each prompt
// votes for its best pattern with the attention that the pattern captures, and the pattern with the
// highest sum is used.

#include <memory>
#include <string>
#include <vector>

#include "attention/methods/minference/pattern_file.h"
#include "calibrate/calibration.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "eval/data.h"
#include "tokenizer/chat_template.h"

namespace longhaul {

struct PatternSearchSettings {
  std::vector<std::string> tasks;  ///< tasks of `longhaul eval`, which are used in turn
  std::vector<int64_t> lengths;    ///< tokens of a prompt and its reply together; used in turn
  int prompts = 2;                 ///< number of prompts
  uint64_t seed = 1;
  SessionOptions session;  ///< the method and the chunk are ignored
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

  /// Returns the patterns, [layer][query head]. The score of a pattern is the share of attention
  /// that it captures, averaged over the prompts for which it was the best. Layers that have a
  /// sliding window in the model itself get the published default pattern. At least one step must
  /// be done.
  HeadPatterns patterns() const;

 private:
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  const EvalData& data_;
  PatternSearchSettings settings_;
  std::vector<HeadPatterns> found_;  ///< per prompt: the best pattern of each head
};

/// Returns the pattern of one head, given its patterns in several prompts. It is the pattern with
/// the highest sum of scores.
HeadPattern most_caught(std::span<const HeadPattern> of_prompts);

}  // namespace longhaul
