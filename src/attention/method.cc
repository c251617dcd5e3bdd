#include "attention/method.h"

#include "attention/parts/planned_attention.h"
#include "ops/core/fill.h"

namespace longhaul {

void Method::attend(LayerStep& step) { attend_by_plan(step); }

void Method::observe(LayerStep& step) {
  if (whole.columns.size() != 1) return;
  std::vector<ColumnTarget>& targets = step.workspace->targets;
  targets.clear();
  for (int list = 0; list < step.store->lists(step.layer); ++list) {
    targets.push_back({step.store->column(step.layer, list, whole.columns.front()), {}});
  }
  add_attention(step, {}, targets);
}

void Method::choose(const Eviction& due) {
  std::vector<View<const float>> columns;
  for (int list = 0; list < due.lists && due.received.empty(); ++list) {
    columns.push_back(due.column(list, 0));
  }
  copy_lists(due.queue, due.received.empty() ? columns : due.received, due.scores);
}

}  // namespace longhaul
