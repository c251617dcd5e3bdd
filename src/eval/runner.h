#pragma once
// Runs `longhaul eval`: every sample of every task with every method. Lengths ascend and methods
// form the innermost loop, so that the results are comparable after an early end. Continues where
// an earlier run in the same folder stopped.

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

struct EvalProgress {
  struct Method {
    std::string name;
    double sum = 0;  ///< sum of scores (without metric nll)
    int64_t scored = 0;
  };
  int64_t done = 0, total = 0;  ///< answers: (sample, opening, method)
  // Work, estimated from lengths:
  double fresh = 0;  ///< work of the answers given by this run
  double left = 0;   ///< work of the remaining answers; answers of earlier runs count neither here
                     ///< nor in `fresh`
  std::vector<Method> methods;
};

/// Returns the remaining seconds at the present speed. `seconds` is the time of this run so far.
/// The result is negative if it is too early for an estimate.
double seconds_left(const EvalProgress& progress, double seconds);

struct EvalHooks {
  /// Called after every answer, from any thread, but never by two threads at once.
  std::function<void(const EvalProgress& progress)> progress;
  const CancelFlag* cancel = nullptr;
};

struct EvalOutcome {
  std::vector<Record> records;  ///< all records of the folder
  size_t found = 0;             ///< number of records present before
  bool finished = false;
  double seconds = 0;
  // Sums over all threads:
  double engine_seconds = 0;  ///< prefill and decode
  double idle_seconds = 0;    ///< waiting without a sample while others still worked
};

/// Returns the tasks with these names, which are names of the registry or "jsonl:FILE". The name of
/// a family ("ruler") stands for all its tasks. Tasks of a family whose data are missing are
/// skipped with a warning, unless none would remain. Throws UserError for an unknown name or an
/// invalid line of a file. `data` is the folder of --data.
std::vector<PlannedTask> plan_tasks(std::span<const std::string> names,
                                    const std::filesystem::path& data = {});

/// Runs the settings and stores the records in the folder. Throws UserError if the folder contains
/// another run or answers to other prompts, if data are missing, if the model does not support a
/// method, or if a length is too short for a task.
EvalOutcome run_eval(const std::shared_ptr<const Engine>& engine, const EvalSettings& settings,
                     std::span<const PlannedTask> tasks, const std::filesystem::path& folder,
                     const EvalHooks& hooks = {});

}  // namespace longhaul
