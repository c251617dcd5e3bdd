// The resume rule of a method, derived from its plans.

#include <algorithm>
#include <numeric>

#include "attention/driver.h"

namespace longhaul {
namespace {

constexpr int64_t kLongPrompt = int64_t{1} << 40;

bool ends_have_effects(const Plan& plan) {
  const bool selects_late = plan.see.chosen && plan.see.tile == 0;
  return plan.keep.when == When::kPromptEnd || plan.keep.when == When::kOwn || plan.see.last > 0 ||
         plan.begins_together || selects_late;
}

bool serves_one_question(const Plan& plan) {
  const bool by_rule = plan.keep.when == When::kPromptEnd && plan.keep.every_token;
  return plan.reads_instruction || by_rule;
}

}  // namespace

ResumeRule AttentionDriver::resume_rule(int chunk) const {
  const auto any = [&](auto&& has) {
    return std::ranges::any_of(
        plans_, [&](const std::vector<Plan>& lists) { return std::ranges::any_of(lists, has); });
  };
  ResumeRule rule;
  if (any(serves_one_question)) {
    rule.group = ResumeGroup::kQuestion;
    return rule;
  }
  const int64_t dense = dense_prefix({0, kLongPrompt, 0, chunk});
  if (dense > 0) {
    rule.group = ResumeGroup::kDense;
    rule.last = kLongPrompt - dense;
    rule.is_dense = !forgets();
    return rule;
  }
  if (any(ends_have_effects)) return rule;
  const bool evicts_or_selects = forgets() || any([](const Plan& plan) { return plan.see.chosen; });
  if (first().rewinds && !evicts_or_selects) {
    rule.group = ResumeGroup::kRewindable;
    return rule;
  }
  rule.group = ResumeGroup::kGrid;
  rule.unit = chunk;
  if (first().keep.when == When::kStride) {
    rule.unit = first().keep.stride;
  } else if (largest_tile() > 0) {
    rule.unit = std::lcm<int64_t>(chunk, largest_tile());
  }
  return rule;
}

}  // namespace longhaul
