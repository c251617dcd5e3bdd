#include "eval/run_progress.h"

#include <algorithm>

namespace longhaul {
namespace {

constexpr double kEnoughToGuess = 1.0;  // second

}  // namespace

double seconds_left(const EvalProgress& progress, double seconds) {
  if (seconds < kEnoughToGuess || progress.fresh <= 0) return -1;
  return seconds / progress.fresh * progress.left;
}

RunProgress::RunProgress(const std::vector<TestedMethod>& tested_methods, int64_t answers,
                         double work, const EvalHooks& hooks)
    : hooks_(hooks), work_(work) {
  progress_.total = answers;
  for (const TestedMethod& tested_method : tested_methods)
    progress_.methods.push_back({tested_method.name});
}

bool RunProgress::add_score(const Record& record) {
  const auto method =
      std::find_if(progress_.methods.begin(), progress_.methods.end(),
                   [&](const EvalProgress::Method& known) { return known.name == record.method; });
  if (method == progress_.methods.end()) return false;
  if (record.metric == "score") {
    method->sum += record.score;
    method->scored += 1;
  }
  return true;
}

void RunProgress::add_found(const Record& record, double work) {
  if (add_score(record)) found_ += work;
}

void RunProgress::add_seconds(double engine_seconds) {
  const std::lock_guard lock(mutex_);
  engine_seconds_ += engine_seconds;
}

void RunProgress::count(double work, const std::vector<Record>& records, double engine_seconds) {
  const std::lock_guard lock(mutex_);
  progress_.done += 1;
  work_ -= work;
  if (records.empty()) {
    found_ -= work;
  } else {
    progress_.fresh += work;
  }
  engine_seconds_ += engine_seconds;
  progress_.left = std::max(0.0, work_ - std::max(0.0, found_));
  for (const Record& record : records) add_score(record);
  if (hooks_.progress) hooks_.progress(progress_);
}

}  // namespace longhaul
