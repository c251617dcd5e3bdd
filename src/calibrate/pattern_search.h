#pragma once
// Finds the attention pattern of MInference for every query head (arXiv:2407.02490, section 3.2). A
// pattern selects a part of the keys for each query. Its score is the share of the attention
// probabilities on the selected keys, averaged over the queries from token 2,500 on. MInference
// selects the columns and diagonals of a pattern by the last queries of a chunk. Each prompt is
// therefore prefilled in one chunk. First, the best pattern of each head is determined for each
// prompt. Then the scores of a pattern are summed over the prompts for which it was the best. The
// head gets the pattern with the highest sum.

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
  std::vector<std::string> tasks;  ///< evaluation tasks, which alternate
  std::vector<int64_t> lengths;    ///< lengths of prompt and reply together, which alternate
  int prompts = 2;                 ///< number of prompts
  uint64_t seed = 1;
  SessionOptions session;  ///< attention method and chunk size are ignored
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

  /// Returns the patterns, [layer][query head]. HeadPattern::score is averaged over the prompts for
  /// which the pattern was the best. Layers to which the model itself gives a sliding window get
  /// the published default pattern. At least one step must be done.
  HeadPatterns patterns() const;

 private:
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  const EvalData& data_;
  PatternSearchSettings settings_;
  std::vector<HeadPatterns> found_;  ///< for each prompt: the best pattern of each head
};

/// Returns the pattern of one head. `of_prompts` has the best pattern of the head for each prompt.
/// The result is the pattern whose scores in this list have the highest sum.
HeadPattern most_caught(std::span<const HeadPattern> of_prompts);

}  // namespace longhaul
