#include "eval/sample_queue.h"

#include <algorithm>

#include "base/error.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

constexpr double kBytesPerToken = 3.6;

}  // namespace

std::vector<bool> openings_of(const Sample& sample, Openings openings) {
  if (sample.opening.empty() || sample.perplexity || openings == Openings::kOff) return {false};
  if (openings == Openings::kOn) return {true};
  return {false, true};
}

SampleQueue::SampleQueue(const EvalSettings& settings, std::span<const PlannedTask> tasks,
                         const PromptComposer& composer, const EvalData& data)
    : settings_(settings), composer_(composer), data_(data) {
  for (const PlannedTask& task : tasks) plan(task);
  std::stable_sort(groups_.begin(), groups_.end(),
                   [](const Group& a, const Group& b) { return a.length < b.length; });
}

std::vector<Sample> SampleQueue::make(const PlannedTask& task, int64_t length, int samples) const {
  TaskRequest request;
  request.length = length;
  request.samples = samples;
  request.seed = settings_.seed;
  request.data = &data_;
  request.prompt_tokens = [this](const Sample& sample) {
    const bool opening = !sample.opening.empty();
    return static_cast<int64_t>(composer_.compose(sample, opening).tokens.size());
  };
  std::vector<Sample> made = task.make(request);
  for (const Sample& sample : made) {
    if (!sample.perplexity) check_scorable(sample);
  }
  return made;
}

void SampleQueue::plan(const PlannedTask& task) {
  const auto& lengths = settings_.lengths;
  if (!task.scales) {
    const int64_t cap = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    Group group{&task, 0, true, {}};
    for (Sample& sample : make(task, cap, settings_.samples)) {
      group.samples.push_back(std::make_shared<const Sample>(std::move(sample)));
      const QueuedSample queued{&task, 0, group.samples.back()};
      answers_ += answers_of(*queued.sample);
      work_ += static_cast<double>(answers_of(*queued.sample)) * work_of(queued);
    }
    groups_.push_back(std::move(group));
    return;
  }
  if (lengths.empty()) user_error("task {}: --lengths is missing", task.name);
  const int64_t shortest = *std::min_element(lengths.begin(), lengths.end());
  const std::vector<Sample> first = make(task, shortest, 1);
  if (first.empty()) return;
  for (const int64_t length : lengths) {
    groups_.push_back({&task, length, false, {}});
    const int64_t answers = settings_.samples * answers_of(first.front());
    answers_ += answers;
    work_ += static_cast<double>(answers) *
             work_of({&task, length, std::make_shared<const Sample>(first.front())});
  }
}

void SampleQueue::fill(Group& group) const {
  if (group.made) return;
  group.made = true;
  for (Sample& sample : make(*group.task, group.length, settings_.samples)) {
    group.samples.push_back(std::make_shared<const Sample>(std::move(sample)));
  }
}

std::optional<QueuedSample> SampleQueue::next() {
  const std::lock_guard lock(mutex_);
  for (; group_ < groups_.size(); ++group_, sample_ = 0) {
    Group& group = groups_[group_];
    fill(group);
    if (sample_ < group.samples.size()) {
      return QueuedSample{group.task, group.length, std::move(group.samples[sample_++])};
    }
    group.samples.clear();
  }
  return std::nullopt;
}

int64_t SampleQueue::answers_of(const Sample& sample) const {
  const auto methods = static_cast<int64_t>(settings_.methods.size());
  if (sample.perplexity) return methods;
  const int64_t controls = settings_.controls ? 2 : 0;
  return (methods + controls) *
         static_cast<int64_t>(openings_of(sample, settings_.openings).size());
}

double SampleQueue::work_of(const QueuedSample& queued) const {
  if (queued.length > 0) return static_cast<double>(queued.length);
  const Sample& s = *queued.sample;
  return static_cast<double>(s.context.size() + s.question.size()) / kBytesPerToken + s.max_tokens;
}

}  // namespace longhaul
