#pragma once
// Finds the best of several settings of a method. All settings answer the same prompts, and after
// each round the better half continues (successive halving, Jamieson and Talwalkar 2016,
// arXiv:1502.07943). Settings as good as the best also continue, because easy prompts do not
// separate settings.

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
  double cost = 0;        ///< the cheapest of equally good settings wins
};

struct SweepSettings {
  std::string method;               ///< method of the settings
  std::vector<SweptSetting> tried;  ///< the first is the default before any result
  std::vector<std::string> tasks;   ///< tasks of `longhaul eval`, in turn
  std::vector<int64_t> lengths;     ///< tokens of a prompt and its reply, in turn
  int prompts = 4;                  ///< prompts per round for every remaining setting
  uint64_t seed = 1;
  SessionOptions session;            ///< its method is ignored
  std::optional<ChatTemplate> chat;  ///< none: bare text, with the reply's first words
};

class SettingsSweep final : public Calibration {
 public:
  struct Scored {
    SweptSetting setting;
    int64_t asked = 0;
    double sum = 0;  ///< sum of scores in 0..1
    bool left = true;
    double mean() const { return asked > 0 ? sum / static_cast<double>(asked) : 0; }
  };

  /// UserError for an unknown task, or for a setting that the model does not support.
  SettingsSweep(std::shared_ptr<const Engine> engine, const EvalData& data,
                const SweepSettings& settings);

  int64_t total() const override;  ///< increases if settings turn out to be equally good
  int64_t done() const override { return static_cast<int64_t>(scores_.size()); }
  /// Runs a prompt with one of the settings.
  bool advance(const CancelFlag* cancel) override;
  std::string note() const override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  const std::vector<Scored>& scored() const { return scored_; }
  /// The best remaining setting so far, comparing only prompts that all of them have answered.
  size_t best() const;

 private:
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
  /// scores of all answers in order; all other state follows from them
  std::vector<double> scores_;
  int rounds_left_ = 0;      ///< including the present one
  int64_t round_begin_ = 0;  ///< number of answers before the present round
};

}  // namespace longhaul
