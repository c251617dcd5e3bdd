#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest_name.h"
#include "eval/task.h"
#include "eval/tasks/benchmark_families.h"
#include "eval/tasks/families.h"

namespace longhaul {
namespace {

std::vector<TaskInfo> all_tasks() {
  std::vector<TaskInfo> tasks;
  for (const auto family : {
           passkey_tasks(),
           needle_tasks(),
           magic_tasks(),
           fact_tasks(),
           key_value_tasks(),
           tracing_tasks(),
           repeat_tasks(),
           graph_walk_tasks(),
           later_question_tasks(),
           repeated_request_tasks(),
           book_tasks(),
           ruler_niah_tasks(),
           ruler_vt_tasks(),
           ruler_words_tasks(),
           ruler_qa_tasks(),
           longbench_tasks(),
           infinite_retrieval_tasks(),
           infinite_computed_tasks(),
           infinite_filed_tasks(),
           babilong_tasks(),
           leval_tasks(),
           document_tasks(),
           few_shot_tasks(),
       }) {
    tasks.insert(tasks.end(), family.begin(), family.end());
  }
  return tasks;
}

}  // namespace

std::span<const TaskInfo> eval_tasks() {
  static const std::vector<TaskInfo> tasks = all_tasks();
  return tasks;
}

const TaskInfo& eval_task(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TaskInfo& task : eval_tasks()) {
    if (task.name == name) return task;
    names.push_back(task.name);
    names.push_back(task.name.substr(0, task.name.find('/')));
  }
  const std::string hint = nearest_name_hint(name, names);
  if (!hint.empty()) user_error("task '{}' is not known{}", name, hint);
  std::vector<std::string_view> parts;  // "niah" is a part of eight names
  for (const TaskInfo& task : eval_tasks()) {
    if (!name.empty() && task.name.find(name) != std::string_view::npos) parts.push_back(task.name);
  }
  if (!parts.empty()) {
    user_error("task '{}' is not known; did you mean {}?", name, fmt::join(parts, ", "));
  }
  for (std::string_view& task : names) task = task.substr(0, task.find('/'));
  names.erase(std::unique(names.begin(), names.end()), names.end());
  user_error("task '{}' is not known; there are: {} (longhaul eval --list says more)", name,
             fmt::join(names, ", "));
}

std::vector<const TaskInfo*> eval_tasks_named(std::string_view name) {
  std::vector<const TaskInfo*> family;
  for (const TaskInfo& task : eval_tasks()) {
    if (task.name.starts_with(name) && task.name.substr(name.size()).starts_with('/')) {
      family.push_back(&task);
    }
  }
  if (family.empty()) family.push_back(&eval_task(name));
  return family;
}

}  // namespace longhaul
