#pragma once
// Every task by name: what it asks, how it scores, where its texts come from. Adding a task is one
// source file and one line in task_registry.cc.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/sample.h"

namespace longhaul {

class EvalData;  // data.h: files that travel with the project, or those of --data DIR

struct TaskRequest {
  std::string_view task;  ///< the name of the task: TaskInfo::make() writes it
  int64_t length = 0;     ///< tokens that prompt and reply may fill; 0: texts stay whole
  int samples = 0;
  uint64_t seed = 0;
  /// Tokens of the finished prompt of a sample, template included (tasks fill up to `length`).
  std::function<int64_t(const Sample&)> prompt_tokens;
  const EvalData* data = nullptr;
};

struct TaskInfo {
  std::string_view name;
  std::string_view summary;  ///< one line: what is asked
  std::string_view rule;     ///< how it is scored, in words; printed beside every score
  std::string_view source;   ///< whose prompts, and which texts stand in for which
  bool scales = true;        ///< false: samples have lengths of their own
  /// A function that several tasks have tells them apart by `request.task`.
  std::vector<Sample> (*samples_of)(const TaskRequest& request) = nullptr;
  bool essays = false;  ///< reads Graham's essays in place of books where the data has them

  /// Deterministic in (length, samples, seed): sample i is the same whatever `samples` is.
  /// UserError names the data file that is missing and --data.
  std::vector<Sample> make(TaskRequest request) const {
    request.task = name;
    return samples_of(request);
  }
};

std::span<const TaskInfo> eval_tasks();
/// UserError lists the names nearest to it.
const TaskInfo& eval_task(std::string_view name);
/// The task of that name, or all of a family: "ruler" means every "ruler/...".
std::vector<const TaskInfo*> eval_tasks_named(std::string_view name);

}  // namespace longhaul
