#pragma once
// Implements `longhaul eval`, which runs every sample of every task with every method. The shortest
// length comes first. All methods run a sample before the next sample begins, so that the scores of
// methods are comparable even if the run ends early. A run continues where an earlier run in the
// same folder stopped.

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "eval/record.h"
#include "eval/run_settings.h"

namespace longhaul {

/// Progress of a run.
struct EvalProgress {
  struct Method {
    std::string name;
    double sum = 0;      ///< sum of the scores; metric "nll" is not included
    int64_t scored = 0;  ///< number of scores
  };
  /// Number of complete answers and of all answers. Each sample has one answer for each method, or
  /// two if it runs with and without opening words (Openings::kBoth).
  int64_t done = 0, total = 0;
  // The following two members are amounts of work in tokens, estimated from the lengths of the
  // samples.
  double fresh = 0;  ///< work of the answers that this run has computed
  /// Work of the answers that are not complete yet. Answers of earlier runs count neither in `left`
  /// nor in `fresh`.
  double left = 0;
  std::vector<Method> methods;
};

/// Estimates the seconds until the end of the run. `seconds` is the time of this run so far. The
/// result is negative if it is too early for an estimate.
double seconds_left(const EvalProgress& progress, double seconds);

struct EvalHooks {
  /// Called after every answer. Different threads call it, but never two at the same time.
  std::function<void(const EvalProgress& progress)> progress;
  const CancelFlag* cancel = nullptr;
};

struct EvalOutcome {
  std::vector<Record> records;  ///< all records of the folder
  size_t found = 0;             ///< number of records in the folder before this run
  bool finished = false;
  double seconds = 0;
  // The following two members are sums over all threads.
  double engine_seconds = 0;  ///< time of prefill and decode
  /// Seconds in which a thread had no further sample while other threads still worked.
  double idle_seconds = 0;
};

/// Returns the tasks with these names. A name is a name of the registry or "jsonl:FILE". The name
/// of a family, such as "ruler", stands for all its tasks. Tasks of a family whose data are missing
/// are skipped with a warning, unless no task of the family would remain. Throws UserError for an
/// unknown name or an invalid line of a file. `data` is the folder of --data.
std::vector<PlannedTask> plan_tasks(std::span<const std::string> names,
                                    const std::filesystem::path& data = {});

/// Runs the tasks with the settings and stores the records in the folder. Throws UserError if the
/// folder contains a run with other settings or answers to other prompts, if data are missing, if
/// the model does not support a method, or if a length is too short for a task.
EvalOutcome run_eval(const std::shared_ptr<const Engine>& engine, const EvalSettings& settings,
                     std::span<const PlannedTask> tasks, const std::filesystem::path& folder,
                     const EvalHooks& hooks = {});

}  // namespace longhaul
