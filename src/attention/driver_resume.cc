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
  for (int layer = 0; layer < shape_.layers; ++layer) {
    if (shape_.own_window(layer) > 0) rule.same_bits = false;
  }
  if (any(serves_one_question)) {
    rule.group = ResumeGroup::kQuestion;
    return rule;
  }
  // A method that neither evicts nor rewinds changes its angles with the length of the context.
  const bool like_dense = forgets() || first().rewinds;
  const int64_t dense = like_dense ? dense_prefix({0, kLongPrompt, 0, chunk}) : 0;
  if (dense > 0 && rule.same_bits) {
    rule.group = ResumeGroup::kDense;
    rule.last = kLongPrompt - dense;
    rule.is_dense = !forgets();
    return rule;
  }
  if (any(ends_have_effects)) return rule;
  const bool evicts_or_selects = forgets() || any([](const Plan& plan) { return plan.see.chosen; });
  if (first().rewinds && !evicts_or_selects && rule.same_bits) {
    rule.group = ResumeGroup::kRewindable;
    return rule;
  }
  rule.group = ResumeGroup::kGrid;
  rule.unit = first().rewinds && !evicts_or_selects ? 1 : chunk;
  if (first().keep.when == When::kStride) {
    rule.unit = first().keep.stride;
  } else if (largest_tile() > 0) {
    rule.unit = std::lcm<int64_t>(chunk, largest_tile());
  }
  return rule;
}

}  // namespace longhaul
