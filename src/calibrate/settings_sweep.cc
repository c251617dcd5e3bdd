#include "calibrate/settings_sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/nth.h"
#include "calibrate/asked_sample.h"
#include "calibrate/state_file.h"
#include "eval/ask.h"

namespace longhaul {
namespace {

/// Number of rounds until halving leaves one setting.
int rounds_of(size_t settings) {
  int rounds = 0;
  for (; settings > 1; settings = (settings + 1) / 2) ++rounds;
  return rounds;
}

}  // namespace

SettingsSweep::SettingsSweep(std::shared_ptr<const Engine> engine, const EvalData& data,
                             const SweepSettings& settings)
    : engine_(std::move(engine)), data_(data), settings_(settings) {
  LH_ASSERT(!settings_.tried.empty() && !settings_.tasks.empty() && !settings_.lengths.empty());
  for (const std::string& task : settings_.tasks) eval_task(task);
  const int64_t longest = *std::ranges::max_element(settings_.lengths);
  for (const SweptSetting& setting : settings_.tried) {
    check_method(MethodSpec::parse(setting.attention), engine_->model().shape,
                 settings_.session.kv_type, {.tokens = longest, .instruction = 1});
    scored_.push_back({setting});
  }
  rounds_left_ = rounds_of(scored_.size());
}

std::vector<size_t> SettingsSweep::left() const {
  std::vector<size_t> left;
  for (size_t i = 0; i < scored_.size(); ++i) {
    if (scored_[i].left) left.push_back(i);
  }
  return left;
}

int64_t SettingsSweep::left_in_round() const {
  return std::ssize(left()) * settings_.prompts - (done() - round_begin_);
}

int64_t SettingsSweep::total() const {
  int64_t settings = std::ssize(left()), answers = done();
  if (rounds_left_ == 0 || settings == 1) return answers;
  answers += left_in_round();
  for (int round = 1; round < rounds_left_ && settings > 1; ++round) {
    settings = (settings + 1) / 2;
    answers += settings > 1 ? settings * settings_.prompts : 0;
  }
  return answers;
}

/// Prompts in turn, each with all remaining settings.
SettingsSweep::Turn SettingsSweep::next() const {
  const std::vector<size_t> all = left();
  const int64_t at = done() - round_begin_, settings = std::ssize(all);
  return {nth(all, at % settings), scored_[all.back()].asked};
}

bool SettingsSweep::advance(const CancelFlag* cancel) {
  LH_ASSERT(!finished());
  const Turn turn = next();
  const PromptComposer composer(engine_->tokenizer(), settings_.chat);
  const SampleRequest request{settings_.tasks, settings_.lengths, settings_.seed};
  const Sample sample = asked_sample(request, turn.prompt, composer, data_);
  SessionOptions session = settings_.session;
  session.attention = MethodSpec::parse(scored_[turn.setting].setting.attention);
  const Asked asked =
      ask(engine_, session, sample, composer.compose(sample, !settings_.chat), {}, cancel);
  if (asked.records.empty()) return false;
  const Record& record = asked.records.front();
  if (!record.error.empty()) user_error("{}", record.error);
  add(record.score);
  return true;
}

void SettingsSweep::add(double score) {
  Scored& setting = scored_[next().setting];
  setting.sum += score;
  ++setting.asked;
  scores_.push_back(score);
  if (left_in_round() == 0) halve();
}

/// Keeps the better half of the remaining settings, and all that are as good as the best.
void SettingsSweep::halve() {
  std::vector<size_t> all = left();
  std::ranges::stable_sort(all, [&](size_t a, size_t b) {
    const Scored &x = scored_[a], &y = scored_[b];
    return x.sum > y.sum || (x.sum == y.sum && x.setting.cost < y.setting.cost);
  });
  const double best = scored_[all.front()].sum;
  for (size_t i = (all.size() + 1) / 2; i < all.size(); ++i) {
    Scored& other = scored_[all[i]];
    other.left = best > 0 && other.sum == best;
  }
  round_begin_ = done();
  --rounds_left_;
}

size_t SettingsSweep::best() const {
  const std::vector<size_t> all = left();
  // Within a round the first settings may have answered one prompt more than the last.
  const int64_t alike = scored_[all.back()].asked;
  if (alike == 0) return 0;
  std::vector<double> sums;
  for (const size_t i : all) {
    const bool ahead = scored_[i].asked > alike;
    const auto back = static_cast<size_t>((done() - round_begin_) % std::ssize(all)) - sums.size();
    sums.push_back(scored_[i].sum - (ahead ? scores_[scores_.size() - back] : 0));
  }
  size_t best = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    const bool cheaper = scored_[all[i]].setting.cost < scored_[all[best]].setting.cost;
    if (sums[i] > sums[best] || (sums[i] == sums[best] && cheaper)) best = i;
  }
  return all[best];
}

std::string SettingsSweep::note() const {
  const Scored& best = scored_[this->best()];
  return fmt::format("{} left, best {:.0f} %", left().size(), 100 * best.mean());
}

double SettingsSweep::tokens_left() const {
  double tokens = 0;
  for (const int64_t length : settings_.lengths) tokens += static_cast<double>(length);
  constexpr double kMore = 1.5;  // the reply, and the selection
  return kMore * tokens / static_cast<double>(settings_.lengths.size()) *
         static_cast<double>(total() - done());
}

std::string SettingsSweep::settings_text() const {
  const SweepSettings& s = settings_;
  std::vector<std::string> tried;
  for (const SweptSetting& setting : s.tried) tried.push_back(setting.attention);
  return fmt::format(
      "model {:016x}, tried {}, tasks {}, lengths {}, prompts {}, seed {}, kv {}, compute {}, chat "
      "{}",
      engine_->fingerprint(), fmt::join(tried, " "), fmt::join(s.tasks, "+"),
      fmt::join(s.lengths, "+"), s.prompts, s.seed, name_of(s.session.kv_type),
      name_of(s.session.compute), chat_text(s.chat));
}

void SettingsSweep::save(const std::filesystem::path& file) const {
  write_state(file, {settings_.method, settings_text()}, {{"scores", scores_}});
}

void SettingsSweep::restore(const std::filesystem::path& file) {
  const auto state = read_state(file, {settings_.method, settings_text()});
  LH_ASSERT(scores_.empty());
  for (const double score : state_numbers(state, "scores", -1, file)) {
    if (finished() || score < 0 || score > 1) refuse_damaged(file);
    add(score);
  }
}

}  // namespace longhaul
