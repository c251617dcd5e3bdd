#pragma once
// Defines TaskInfo, which describes a task and makes its samples, and the registry of all tasks. A
// new task needs one source file and one line in task_registry.cc.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/sample.h"

namespace longhaul {

class EvalData;  // data.h: files of the project, or those of --data DIR

/// The arguments of TaskInfo::make().
struct TaskRequest {
  std::string_view task;  ///< the name of the task, set by TaskInfo::make()
  int64_t length = 0;     ///< length of prompt and reply together, in tokens; 0: texts are not cut
  int samples = 0;
  uint64_t seed = 0;
  /// Returns the number of tokens of a sample's finished prompt, including the chat template. Tasks
  /// use it to fill a prompt up to `length`.
  std::function<int64_t(const Sample&)> prompt_tokens;
  const EvalData* data = nullptr;
};

struct TaskInfo {
  std::string_view name;
  std::string_view summary;  ///< one line that describes the question
  std::string_view rule;     ///< description of the scoring, which reports print beside the scores
  /// Origin of the prompts and texts, also of texts that replace those of a published benchmark.
  std::string_view source;
  /// Whether samples can have any requested length; false: they have their own lengths.
  bool scales = true;
  /// The function that makes the samples. Several tasks may share a function, which then
  /// distinguishes them by request.task.
  std::vector<Sample> (*samples_of)(const TaskRequest& request) = nullptr;
  /// Whether the task uses Graham's essays instead of books if they are available.
  bool essays = false;

  /// Makes request.samples samples. They depend only on request.length and request.seed, and sample
  /// i does not depend on the number of samples. Throws UserError if a data file is missing; the
  /// message names the file and --data.
  std::vector<Sample> make(TaskRequest request) const {
    request.task = name;
    return samples_of(request);
  }
};

std::span<const TaskInfo> eval_tasks();
/// Returns the task with this name. If there is none, throws a UserError that lists the most
/// similar names.
const TaskInfo& eval_task(std::string_view name);
/// Returns the task with this name, or all tasks of a family. "ruler" stands for all tasks
/// "ruler/...".
std::vector<const TaskInfo*> eval_tasks_named(std::string_view name);

}  // namespace longhaul
