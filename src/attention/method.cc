#include "attention/method.h"

#include "attention/parts/planned_attention.h"
#include "ops/core/fill.h"

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
  std::vector<View<const float>> columns;
  for (int list = 0; list < cut.lists && cut.paid.empty(); ++list) {
    columns.push_back(cut.column(list, 0));
  }
  copy_lists(cut.queue, cut.paid.empty() ? columns : cut.paid, cut.scores);
}

}  // namespace longhaul
