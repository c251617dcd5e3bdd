#pragma once
// Registry of all tasks by name. An entry describes the question, the scoring and the sources of
// the texts. A new task needs one source file and one line in task_registry.cc.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/sample.h"

namespace longhaul {

class EvalData;  // data.h: files of the project, or those of --data DIR

struct TaskRequest {
  std::string_view task;  ///< the name of the task, set by TaskInfo::make()
  int64_t length = 0;     ///< tokens for prompt and reply together; 0: texts are not cut
  int samples = 0;
  uint64_t seed = 0;
  /// Number of tokens of a sample's finished prompt, including the template (tasks fill up to
  /// `length`).
  std::function<int64_t(const Sample&)> prompt_tokens;
  const EvalData* data = nullptr;
};

struct TaskInfo {
  std::string_view name;
  std::string_view summary;  ///< one line: the question
  std::string_view rule;     ///< description of the scoring, printed beside every score
  std::string_view source;   ///< origin of the prompts, and the texts that replace others
  bool scales = true;        ///< false: samples have their own lengths
  /// A function shared by several tasks distinguishes them by `request.task`.
  std::vector<Sample> (*samples_of)(const TaskRequest& request) = nullptr;
  bool essays = false;  ///< reads Graham's essays instead of books if the data include them

  /// Makes the samples. They depend only on length and seed, and sample i does not depend on
  /// `samples`. Throws UserError that names a missing data file and --data.
  std::vector<Sample> make(TaskRequest request) const {
    request.task = name;
    return samples_of(request);
  }
};

std::span<const TaskInfo> eval_tasks();
/// Returns the task with this name. Throws UserError that lists the closest names if there is none.
const TaskInfo& eval_task(std::string_view name);
/// Returns the task with this name, or all tasks of a family: "ruler" means every "ruler/...".
std::vector<const TaskInfo*> eval_tasks_named(std::string_view name);

}  // namespace longhaul
