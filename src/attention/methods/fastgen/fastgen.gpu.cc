// The GPU's operations of this method.

#include "attention/methods/fastgen/hybrid_rules.gpu.h"
#include "attention/methods/fastgen/hybrid_rules.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {
namespace {

RuleTask rule_task(const HybridRules& rules, const JudgedList& list) {
  RuleTask task{};
  task.attention = list.attention.address();
  task.recent = list.recent.address();
  task.tokens = list.tokens.listed.address();
  task.listed = list.tokens.listed.size();
  task.behind = list.tokens.behind;
  task.classes = list.classes.address();
  task.known = list.classes.size();
  task.rows = list.rows;
  task.begin = list.begin;
  task.end = list.end;
  task.global = rules.global;
  task.heavy = rules.heavy_rows(list.end);
  task.window = rules.window_rows(list.end);
  task.enough = rules.enough(list);
  task.rule = list.rule;
  return task;
}

void run_judge_rules(GpuQueue& queue, const HybridRules& rules, std::span<const JudgedList> lists,
                     View<int32_t> verdicts) {
  std::vector<RuleTask> tasks;
  for (size_t l = 0; l < lists.size(); ++l) {
    tasks.push_back(rule_task(rules, lists[l]));
    tasks.back().verdict = verdicts.address() + 2 * l;
  }
  judge_rules(queue.handle(), tasks, queue.own<ScoreScratch>());
}

void run_list_rules(GpuQueue& queue, const HybridRules& rules, std::span<const JudgedList> lists,
                    std::span<const View<int32_t>> rows) {
  std::vector<RuleTask> tasks;
  for (size_t l = 0; l < lists.size(); ++l) {
    tasks.push_back(rule_task(rules, lists[l]));
    tasks.back().out = rows[l].address();
  }
  judge_rules(queue.handle(), tasks, queue.own<ScoreScratch>());
}

}  // namespace

void implement_fastgen(GpuQueue& queue) {
  queue.implement(kJudgeRules, run_judge_rules);
  queue.implement(kListRules, run_list_rules);
}

}  // namespace longhaul::cuda
