// Resolves the task names of a run.

#include <fmt/ranges.h>

#include <set>

#include "base/error.h"
#include "eval/data.h"
#include "eval/haystack.h"
#include "eval/runner.h"
#include "eval/tasks/jsonl.h"

namespace longhaul {
namespace {

/// A task, or the tasks of a family for which data is available.
std::vector<const TaskInfo*> tasks_at_hand(std::string_view name, const EvalData& data) {
  const std::vector<const TaskInfo*> tasks = eval_tasks_named(name);
  if (tasks.size() == 1) return tasks;
  TaskRequest nothing;
  nothing.data = &data;
  nothing.prompt_tokens = [](const Sample&) { return int64_t{0}; };
  std::vector<const TaskInfo*> made;
  std::vector<std::string_view> missing;
  std::string reason;
  for (const TaskInfo* task : tasks) {
    try {
      task->make(nothing);
      made.push_back(task);
    } catch (const UserError& error) {
      if (reason.empty()) reason = error.what();
      missing.push_back(task->name);
    }
  }
  if (made.empty()) throw UserError(reason);
  if (!missing.empty()) {
    warn("left out: {}; the first because: {}", fmt::join(missing, ", "), reason);
  }
  return made;
}

PlannedTask planned(const TaskInfo& info, const EvalData& data) {
  PlannedTask task;
  task.name = info.name;
  task.summary = info.summary;
  task.rule = info.rule;
  task.source = info.source;
  if (info.essays) task.contents = essays_hash(data);
  task.scales = info.scales;
  task.make = [&info](const TaskRequest& request) { return info.make(request); };
  return task;
}

}  // namespace

std::vector<PlannedTask> plan_tasks(std::span<const std::string> names,
                                    const std::filesystem::path& data) {
  constexpr std::string_view kJsonl = "jsonl:";
  const EvalData texts(data);
  std::vector<PlannedTask> tasks;
  for (const std::string& name : names) {
    if (name.starts_with(kJsonl)) {
      tasks.push_back(jsonl_task(name.substr(kJsonl.size())));
    } else {
      for (const TaskInfo* info : tasks_at_hand(name, texts)) {
        tasks.push_back(planned(*info, texts));
      }
    }
  }
  std::set<std::string_view> known;
  for (const PlannedTask& task : tasks) {
    if (!known.insert(task.name).second) user_error("task {} is given twice", task.name);
  }
  return tasks;
}

}  // namespace longhaul
