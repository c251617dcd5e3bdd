#pragma once
// SettingsSweep finds the best of several settings of an attention method. In each round, all
// remaining settings answer the same prompts. After the round, the better half of them remains
// (successive halving: Jamieson and Talwalkar 2016, arXiv:1502.07943). All settings that are as
// good as the best one also remain, because easy prompts cannot distinguish settings.

#include <memory>
#include <string>
#include <vector>

#include "calibrate/calibration.h"
#include "engine/session.h"
#include "eval/data.h"
#include "tokenizer/chat_template.h"

namespace longhaul {

struct SweptSetting {
  std::string attention;  ///< value of --attention
  /// Relative cost of the setting; the cheapest of equally good settings is the best.
  double cost = 0;
};

struct SweepSettings {
  std::string method;  ///< name of the method
  /// The candidates. best() returns the first one as long as there are no answers.
  std::vector<SweptSetting> tried;
  std::vector<std::string> tasks;  ///< evaluation tasks, which alternate
  std::vector<int64_t> lengths;    ///< lengths of prompt and reply together, which alternate
  int prompts = 4;                 ///< number of prompts that each setting answers in a round
  uint64_t seed = 1;
  SessionOptions session;  ///< the attention method is ignored
  /// Chat template. None: prompts are bare text that ends with the first words of the reply.
  std::optional<ChatTemplate> chat;
};

class SettingsSweep final : public Calibration {
 public:
  /// A setting with its scores.
  struct Scored {
    SweptSetting setting;
    int64_t asked = 0;  ///< number of answers
    double sum = 0;     ///< sum of the scores, each from 0 to 1
    bool left = true;   ///< whether the setting remains
    double mean() const { return asked > 0 ? sum / static_cast<double>(asked) : 0; }
  };

  /// Throws UserError for an unknown task, or for a setting that the model does not support.
  SettingsSweep(std::shared_ptr<const Engine> engine, const EvalData& data,
                const SweepSettings& settings);

  /// Returns the number of answers of the whole search. It increases if more settings than expected
  /// remain.
  int64_t total() const override;
  int64_t done() const override { return static_cast<int64_t>(scores_.size()); }
  /// Runs one prompt with one of the settings.
  bool advance(const CancelFlag* cancel) override;
  std::string note() const override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  const std::vector<Scored>& scored() const { return scored_; }
  /// Returns the index of the best remaining setting. The comparison uses only prompts that all
  /// remaining settings have answered.
  size_t best() const;

 private:
  /// The next answer to compute: a setting, and the number of the prompt that it answers.
  struct Turn {
    size_t setting = 0;
    int64_t prompt = 0;
  };
  Turn next() const;
  std::vector<size_t> left() const;
  void add(double score);
  void halve();
  int64_t left_in_round() const;
  std::string settings_text() const;

  std::shared_ptr<const Engine> engine_;
  const EvalData& data_;
  SweepSettings settings_;
  std::vector<Scored> scored_;
  /// Scores of all answers in order. All other members can be computed from them, so only they are
  /// saved.
  std::vector<double> scores_;
  int rounds_left_ = 0;      ///< number of rounds left, including the current one
  int64_t round_begin_ = 0;  ///< number of answers before the current round
};

}  // namespace longhaul
