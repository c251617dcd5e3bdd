#include "eval/sample_queue.h"

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/error.h"
#include "eval/haystack.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

bool among(const std::vector<bool>& ways, bool opening) {
  return std::find(ways.begin(), ways.end(), opening) != ways.end();
}

}  // namespace

std::vector<bool> openings_of(const Sample& sample, Openings openings,
                              const PromptComposer& composer) {
  if (!composer.opens(sample) || openings == Openings::kOff) return {false};
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
  request.prompt_tokens = [this](const Sample& sample) { return composer_.most_tokens(sample); };
  std::vector<Sample> made = task.make(request);
  for (const Sample& sample : made) {
    if (!sample.perplexity) check_scorable(sample);
  }
  return made;
}

void SampleQueue::plan_fixed(const PlannedTask& task) {
  Group group;
  group.task = &task;
  group.made = true;
  for (Sample& sample : make(task, settings_.longest_text, settings_.samples)) {
    group.samples.push_back(std::make_shared<const Sample>(std::move(sample)));
    if (!settings_.shard.holds(group.samples.size() - 1)) continue;
    const QueuedSample queued{&task, 0, group.samples.back()};
    group.opened = group.opened || composer_.opens(*queued.sample);
    answers_ += answers_of(*queued.sample);
    work_ += static_cast<double>(answers_of(*queued.sample)) * work_of(queued);
  }
  groups_.push_back(std::move(group));
}

void SampleQueue::plan(const PlannedTask& task) {
  if (!task.scales) return plan_fixed(task);
  const auto& lengths = settings_.lengths;
  if (lengths.empty()) user_error("task {}: --lengths is missing", task.name);
  const int64_t shortest = *std::min_element(lengths.begin(), lengths.end());
  std::vector<Sample> made = make(task, shortest, 1);
  if (made.empty()) return;
  const auto first = std::make_shared<const Sample>(std::move(made.front()));
  const int64_t answers = settings_.shard.share_of(settings_.samples) * answers_of(*first);
  for (const int64_t length : lengths) {
    Group& group = groups_.emplace_back();
    group.task = &task;
    group.length = length;
    group.ways = openings_of(*first, settings_.openings, composer_);
    group.opened = composer_.opens(*first);
    if (length == shortest && settings_.samples > 0) group.samples = {first};
    answers_ += answers;
    work_ += static_cast<double>(answers) * work_of({&task, length, first});
  }
}

void SampleQueue::plan_first(
    const std::function<bool(const PlannedTask& task, int64_t length)>& wanted) {
  for (Group& group : groups_) {
    const bool there = group.made || !group.samples.empty() || settings_.samples < 1;
    if (there || !wanted(*group.task, group.length)) continue;
    for (Sample& sample : make(*group.task, group.length, 1)) {
      group.samples.push_back(std::make_shared<const Sample>(std::move(sample)));
    }
  }
}

std::vector<std::string_view> SampleQueue::unopened() const {
  std::vector<std::string_view> names;
  for (const Group& group : groups_) {
    const bool known = std::find(names.begin(), names.end(), group.task->name) != names.end();
    if (!group.opened && !known) names.push_back(group.task->name);
  }
  return names;
}

bool SampleQueue::asks(const Record& record) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    if (group.task->name != record.task || group.length != record.length) return false;
    if (group.task->scales) return among(group.ways, record.opening);
    return std::any_of(group.samples.begin(), group.samples.end(), [&](const auto& sample) {
      return sample->id == record.id &&
             among(openings_of(*sample, settings_.openings, composer_), record.opening);
    });
  });
}

std::vector<QueuedSample> SampleQueue::planned() const {
  std::vector<QueuedSample> all;
  for (const Group& group : groups_) {
    for (const auto& sample : group.samples) all.push_back({group.task, group.length, sample});
  }
  return all;
}

/// Makes the group's samples, or waits for the thread that does. Groups are made one at a time and
/// in order, because EvalData supports one thread only.
void SampleQueue::fill(Group& group, std::unique_lock<std::mutex>& lock) {
  if (group.making) {
    const Stopwatch watch;
    filled_.wait(lock, [&] { return !group.making; });
    waited_seconds_ += watch.seconds();
    return;
  }
  group.making = true;
  lock.unlock();
  std::vector<Sample> made;
  std::exception_ptr failure;
  try {
    made = make(*group.task, group.length, settings_.samples);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  group.making = false;
  filled_.notify_all();
  group.failure = failure;
  if (failure) return;
  group.made = true;
  group.samples.clear();
  for (Sample& sample : made) {
    group.samples.push_back(std::make_shared<const Sample>(std::move(sample)));
  }
}

/// The thread that takes a sample first makes the next group, if no thread has begun to. With a
/// single thread this would only delay its answers.
void SampleQueue::look_ahead(std::unique_lock<std::mutex>& lock) {
  if (settings_.parallel <= 1 || !groups_[group_].made || group_ + 1 == groups_.size()) return;
  Group& next = groups_[group_ + 1];
  if (!next.made && !next.making && !next.failure) fill(next, lock);
}

std::optional<QueuedSample> SampleQueue::next() {
  std::unique_lock lock(mutex_);
  while (group_ < groups_.size()) {
    Group& group = groups_[group_];
    if (sample_ < group.samples.size()) {
      const size_t number = sample_++;
      if (!settings_.shard.holds(number)) continue;
      QueuedSample taken{group.task, group.length, std::move(group.samples[number])};
      look_ahead(lock);
      return taken;
    }
    if (group.made) {
      group.samples.clear();
      ++group_;
      sample_ = 0;
    } else if (group.failure) {
      std::rethrow_exception(group.failure);
    } else {
      fill(group, lock);
    }
  }
  return std::nullopt;
}

int64_t SampleQueue::answers_of(const Sample& sample) const {
  const auto methods = static_cast<int64_t>(settings_.methods.size());
  if (sample.perplexity) return methods;
  return std::ssize(method_names(settings_)) *
         static_cast<int64_t>(openings_of(sample, settings_.openings, composer_).size());
}

double SampleQueue::work_of(const Record& record) const {
  if (!asks(record) || !record.begins_answer()) return 0;
  if (record.length > 0) {
    int number = 0;  // samples of any length are numbered
    std::from_chars(record.id.data(), record.id.data() + record.id.size(), number);
    const bool asked =
        number < settings_.samples && settings_.shard.holds(static_cast<size_t>(number));
    return asked ? static_cast<double>(record.length) : 0;
  }
  for (const Group& group : groups_) {
    if (group.task->name != record.task) continue;
    for (const auto& sample : group.samples) {
      if (sample->id == record.id) return work_of({group.task, 0, sample});
    }
  }
  return 0;
}

double SampleQueue::work_of(const QueuedSample& queued) const {
  if (queued.length > 0) return static_cast<double>(queued.length);
  const Sample& s = *queued.sample;
  return static_cast<double>(s.context.size() + s.question.size()) / kBytesPerToken + s.max_tokens;
}

}  // namespace longhaul
