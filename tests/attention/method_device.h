#pragma once
// A fake device that also runs operations of single methods, in the phase code that a GPU runs
// (ops/core/gpu/block.h).

#include "attention/methods/adakv/allocate_rows.h"
#include "attention/methods/adakv/allocation_phases.h"
#include "attention/methods/fastgen/hybrid_rules.h"
#include "attention/methods/fastgen/rule_phases.h"
#include "attention/methods/roco/steady_phases.h"
#include "attention/methods/roco/steady_scores.h"
#include "ops/choosing_device.h"

namespace longhaul::testing_support {

class MethodDevice : public ChoosingDevice {
 public:
  MethodDevice() {
    set(kAddSeen, this, &MethodDevice::add_seen);
    set(kAllocateRows, this, &MethodDevice::allocate_rows);
    set(kSteadyScores, this, &MethodDevice::steady_scores);
    set(kJudgeRules, this, &MethodDevice::judge_rules);
    set(kListRules, this, &MethodDevice::list_rules);
  }

  bool add_seen(int64_t rows, std::span<const View<float>> columns) {
    for (const View<float>& column : columns) {
      const View<float> numbers = here(column);
      longhaul::add_seen(host_queue(), rows, {&numbers, 1});
    }
    return true;
  }
  bool allocate_rows(const SharedBudget& budget) {
    std::vector<cuda::BudgetList> lists;
    for (size_t l = 0; l < budget.scores.size(); ++l) {
      lists.push_back({budget.scores[l].address(), budget.scores[l].size(),
                       budget.rows[l].address(), budget.counts.address() + l});
    }
    cuda::allocate_rows(
        cuda::HostBlock{}, shared_.select,
        {lists.data(), static_cast<int32_t>(lists.size()), budget.ends.first, budget.ends.last,
         budget.guaranteed, budget.left, reinterpret_cast<uint32_t*>(budget.scratch.address())});
    return true;
  }
  bool steady_scores(std::span<const SteadyList> lists) {
    for (const auto& [got, rule, scores] : lists) {
      cuda::steady_scores(
          cuda::HostBlock{}, shared_.select,
          {got.sums.address(), got.squares.address(), got.seen.address(), scores.address(),
           scores.size(), rule.sink, rule.settling, rule.feasible});
    }
    return true;
  }
  bool judge_rules(const HybridRules& rules, std::span<const JudgedList> lists,
                   View<int32_t> verdicts) {
    for (size_t l = 0; l < lists.size(); ++l) {
      run(rules, lists[l], verdicts.address() + 2 * l, nullptr);
    }
    return true;
  }
  bool list_rules(const HybridRules& rules, std::span<const JudgedList> lists,
                  std::span<const View<int32_t>> rows) {
    for (size_t l = 0; l < lists.size(); ++l) run(rules, lists[l], nullptr, rows[l].address());
    return true;
  }

 private:
  void run(const HybridRules& rules, const JudgedList& list, int32_t* verdict, int32_t* out) {
    const cuda::RuleTask task{.attention = list.attention.address(),
                              .recent = list.recent.address(),
                              .tokens = list.tokens.listed.address(),
                              .listed = list.tokens.listed.size(),
                              .behind = list.tokens.behind,
                              .classes = list.classes.address(),
                              .known = list.classes.size(),
                              .rows = list.rows,
                              .begin = list.begin,
                              .end = list.end,
                              .global = rules.global,
                              .heavy = rules.heavy_rows(list.end),
                              .window = rules.window_rows(list.end),
                              .enough = rules.enough(list),
                              .rule = list.rule,
                              .verdict = verdict,
                              .out = out};
    const cuda::HostBlock block;
    cuda::RuleJudgement<cuda::HostBlock>(block, shared_, task).run();
  }

  cuda::RuleShared shared_;
};

}  // namespace longhaul::testing_support
