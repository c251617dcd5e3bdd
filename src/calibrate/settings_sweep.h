#pragma once
// Which of some settings of a method answers best: all are asked the same prompts, and after each
// round the better half goes on (successive halving, Jamieson and Talwalkar 2016,
// arXiv:1502.07943), with those that are as good as the best: easy prompts tell nothing apart.

#include <memory>
#include <string>
#include <vector>

#include "calibrate/calibration.h"
#include "engine/session.h"
#include "eval/data.h"
#include "tokenizer/chat_template.h"

namespace longhaul {

struct SweptSetting {
  std::string attention;  ///< as --attention says it
  double cost = 0;        ///< of equally good ones the cheapest is taken
};

struct SweepSettings {
  std::string method;               ///< whose settings they are
  std::vector<SweptSetting> tried;  ///< the first is what is taken before anything is known
  std::vector<std::string> tasks;   ///< of `longhaul eval`, in turn
  std::vector<int64_t> lengths;     ///< tokens of a prompt and its reply, in turn
  int prompts = 4;                  ///< of a round, for every setting that is left
  uint64_t seed = 1;
  SessionOptions session;            ///< its method is not looked at
  std::optional<ChatTemplate> chat;  ///< none: bare text, with the reply's first words
};

class SettingsSweep final : public Calibration {
 public:
  struct Scored {
    SweptSetting setting;
    int64_t asked = 0;
    double sum = 0;  ///< of scores in 0..1
    bool left = true;
    double mean() const { return asked > 0 ? sum / static_cast<double>(asked) : 0; }
  };

  /// UserError for a task that is not known, or a setting that the model cannot have.
  SettingsSweep(std::shared_ptr<const Engine> engine, const EvalData& data,
                const SweepSettings& settings);

  int64_t total() const override;  ///< more where settings turn out to be equally good
  int64_t done() const override { return static_cast<int64_t>(scores_.size()); }
  /// Puts a prompt to one of the settings.
  bool advance(const CancelFlag* cancel) override;
  std::string note() const override;
  double tokens_left() const override;
  void save(const std::filesystem::path& file) const override;
  void restore(const std::filesystem::path& file) override;

  const std::vector<Scored>& scored() const { return scored_; }
  /// The best so far: of those that are left, as far as all of them have been asked alike.
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
  std::vector<double> scores_;  ///< of all answers, in their order: everything else follows
  int rounds_left_ = 0;         ///< with the one at hand
  int64_t round_begin_ = 0;     ///< answers before the round at hand
};

}  // namespace longhaul
