#pragma once
// A run of `longhaul eval`: every sample of every task put to every method, lengths ascending and
// methods inmost, so that what is there after an early end can be compared. Continues where an
// earlier run into the same folder stopped.

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
    double sum = 0;  ///< of scores (metric nll left out)
    int64_t scored = 0;
  };
  int64_t done = 0, total = 0;  ///< answers: (sample, opening, method)
  // Work, guessed from lengths:
  double fresh = 0;  ///< of the answers that this run has given
  double left = 0;   ///< of those that it still has to give; what earlier runs gave is in neither
  std::vector<Method> methods;
};

/// What is left at the speed of what this run has done in `seconds`; below 0: too early to tell.
double seconds_left(const EvalProgress& progress, double seconds);

struct EvalHooks {
  /// After every answer; may come from any thread, one at a time.
  std::function<void(const EvalProgress& progress)> progress;
  const CancelFlag* cancel = nullptr;
};

struct EvalOutcome {
  std::vector<Record> records;  ///< all of the folder's
  size_t found = 0;             ///< of them, there before
  bool finished = false;
  double seconds = 0;
  // Of all threads together:
  double engine_seconds = 0;  ///< reading prompts and writing replies
  double idle_seconds = 0;    ///< without a sample, while others still answered or made ready
};

/// The registry's tasks and "jsonl:FILE". UserError: an unknown name, a bad line of a file.
/// A family's name ("ruler") stands for its tasks; those whose data is not there are left out with
/// a warning, unless none is left. `data`: the folder of --data.
std::vector<PlannedTask> plan_tasks(std::span<const std::string> names,
                                    const std::filesystem::path& data = {});

/// UserError when the folder holds another run or answers to other prompts, when data are missing,
/// when a method cannot be, or when a length is too short for a task.
EvalOutcome run_eval(const std::shared_ptr<const Engine>& engine, const EvalSettings& settings,
                     std::span<const PlannedTask> tasks, const std::filesystem::path& folder,
                     const EvalHooks& hooks = {});

}  // namespace longhaul
