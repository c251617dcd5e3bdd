#include "attention/method.h"

#include "attention/parts/planned_attention.h"
#include "base/nth.h"
#include "ops/fill.h"

namespace longhaul {

void Method::attend(LayerStep& step) { attend_by_plan(step); }

void Method::observe(LayerStep& step) {
  const Plan& plan = step.plans.front();
  if (plan.columns.size() != 1) return;
  std::vector<ColumnTarget>& targets = step.workspace->targets;
  targets.clear();
  for (int list = 0; list < step.store->lists(step.layer); ++list) {
    targets.push_back({step.store->column(step.layer, list, plan.columns.front()), {}});
  }
  add_attention(step, {}, targets);
}

void Method::score(const Cut& cut) {
  for (int list = 0; list < cut.lists; ++list) {
    copy(cut.queue, cut.paid.empty() ? cut.column(list, 0) : nth(cut.paid, list),
         nth(cut.scores, list));
  }
}

}  // namespace longhaul
