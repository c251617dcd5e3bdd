#include "calibrate/duo_gates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/nth.h"
#include "calibrate/asked_sample.h"
#include "eval/random.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

// number of different prompt lengths, each used once in that many steps
constexpr int64_t kLengths = 50;
constexpr std::string_view kPasskeys = "passkeys";

Gates all_open(const ModelShape& shape) {
  Gates gates;
  for (const int heads : shape.kv_heads) gates.emplace_back(static_cast<size_t>(heads), 1.0f);
  return gates;
}

size_t count_of(const Gates& gates) {
  size_t count = 0;
  for (const auto& layer : gates) count += layer.size();
  return count;
}

std::vector<double> flat(const Gates& gates) {
  std::vector<double> all;
  for (const auto& layer : gates) all.insert(all.end(), layer.begin(), layer.end());
  return all;
}

double mean_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

/// The mean squared difference of two ranges of normed hidden states. Replaces the second by the
/// gradient with respect to it.
double difference(const Buffer<float>& wanted, Buffer<float>& found) {
  double sum = 0;
  const double count = static_cast<double>(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const double apart = static_cast<double>(found[i]) - static_cast<double>(wanted[i]);
    sum += apart * apart;
    found[i] = static_cast<float>(2 * apart / count);
  }
  return sum / count;
}

AttendCompute attend_compute(Compute compute) {
  return compute == Compute::kF32 ? AttendCompute::kF32 : AttendCompute::kBest;
}

}  // namespace

DuoTrainer::DuoTrainer(std::shared_ptr<const Engine> engine, const EvalData& data,
                       std::optional<ChatTemplate> chat, const DuoTraining& settings)
    : engine_(std::move(engine)),
      data_(data),
      chat_(std::move(chat)),
      settings_(settings),
      decoder_(settings.queue.on_host() ? FrozenDecoder(engine_->model(), settings.compute)
                                        : FrozenDecoder(engine_->on_device(settings.queue))),
      gates_(all_open(engine_->model().shape)),
      adam_(count_of(gates_)) {
  LH_ASSERT(!settings_.tasks.empty());
  for (const std::string& task : settings_.tasks) {
    if (task != kPasskeys) eval_task(task);
  }
}

DuoTrainer::~DuoTrainer() = default;

AnsweredPrompt DuoTrainer::prompt(int64_t step) const {
  const auto tasks = static_cast<int64_t>(settings_.tasks.size());
  std::vector<int64_t> lengths(kLengths);
  for (int64_t i = 0; i < kLengths; ++i) {
    nth(lengths, i) =
        settings_.shortest + (settings_.longest - settings_.shortest) * i / (kLengths - 1);
  }
  Random random("duo lengths", settings_.seed, 0, step / kLengths);
  random.shuffle(lengths);
  PromptRequest request;
  request.tokenizer = &engine_->tokenizer();
  request.chat = chat_;
  request.data = &data_;
  request.seed = settings_.seed;
  request.length = nth(lengths, step % kLengths);
  request.index = step;
  const std::string& task = nth(settings_.tasks, step % tasks);
  if (task == kPasskeys) return ten_passkeys(request, settings_.words);
  request.index = step / tasks;
  return answered_task(request, eval_task(task));
}

DuoStep DuoTrainer::step() {
  const AnsweredPrompt text = prompt(done_);
  engine_->check_known(text.tokens);
  const int64_t hidden = engine_->model().config.hidden;
  const auto tokens = static_cast<int64_t>(text.tokens.size()), rows = tokens - text.first_row;
  const AttendCompute compute = attend_compute(settings_.compute);
  const bool keep = settings_.full == GatedAttention::Full::kOfModel;

  Buffer<float> wanted(static_cast<size_t>(rows * hidden)), found(wanted.size());
  FullAttention full(decoder_, compute, keep);
  decoder_.final_norm(decoder_.forward(text.tokens, full, false).from(text.first_row * hidden),
                      rows, wanted.data());

  GatedAttention gated(decoder_, compute, gates_, settings_.sight, keep ? &full : nullptr);
  const View<const float> states =
      decoder_.forward(text.tokens, gated, true).from(text.first_row * hidden);
  decoder_.final_norm(states, rows, found.data());

  DuoStep report{.step = done_, .tokens = tokens, .answer_tokens = rows};
  report.difference = difference(wanted, found);
  report.gates = mean_of(flat(gates_));
  report.loss = report.difference + settings_.penalty * report.gates;
  const View<float> d = d_.resize(decoder_.queue(), tokens * hidden);
  fill(decoder_.queue(), d.part(0, text.first_row * hidden), 0);
  decoder_.final_norm_backward(states, found.data(), rows, d.from(text.first_row * hidden));
  decoder_.backward(gated, d);
  remember(report.loss);
  descend(gated.gradient());
  last_ = report;
  return report;
}

bool DuoTrainer::advance(const CancelFlag* cancel) {
  if (requested(cancel)) return false;
  step();
  return true;
}

std::string DuoTrainer::note() const {
  if (!last_) return {};
  return fmt::format("difference {:.4f}, mean gate {:.3f}", last_->difference, last_->gates);
}

double DuoTrainer::tokens_left() const {
  constexpr double kMore = 5.5;  // two texts forward, one again, and backward
  const double length = static_cast<double>(settings_.shortest + settings_.longest) / 2;
  return kMore * length * static_cast<double>(total() - done());
}

void DuoTrainer::descend(const Gates& gradient) {
  std::vector<double> x = flat(gates_), slope = flat(gradient);
  for (double& s : slope) s += settings_.penalty / static_cast<double>(slope.size());
  adam_.step(slope, settings_.rate * learning_rate_share(done_, settings_.steps), x);
  size_t at = 0;
  for (auto& layer : gates_) {
    for (float& gate : layer) gate = std::clamp(static_cast<float>(x[at++]), 0.0f, 1.0f);
  }
  ++done_;
}

/// Stores the gates of this step if the last steps are the best stretch so far.
void DuoTrainer::remember(double loss) {
  losses_.push_back(loss);
  const size_t stretch = std::max<size_t>(10, settings_.tasks.size());
  if (losses_.size() < stretch) return;
  const double mean =
      mean_of({losses_.end() - static_cast<std::ptrdiff_t>(stretch), losses_.end()});
  if (!best_.empty() && mean >= least_) return;
  least_ = mean;
  best_ = gates_;
}

std::string DuoTrainer::settings_text() const {
  const DuoTraining& s = settings_;
  return fmt::format(
      "model {:016x}, steps {}, rate {}, penalty {}, sink {}, recent {}, full {}, tasks {}, words "
      "{}, "
      "lengths {} to {}, seed {}, chat {}",
      engine_->fingerprint(), s.steps, s.rate, s.penalty, s.sight.sink, s.sight.recent,
      s.full == GatedAttention::Full::kOfModel ? "model" : "stream", fmt::join(s.tasks, "+"),
      s.words, s.shortest, s.longest, s.seed, chat_text(chat_));
}

}  // namespace longhaul
