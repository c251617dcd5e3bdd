#include "attention/parts/dense_rows.h"

namespace longhaul {

void attend_dense_rows(LayerStep& step, int rows) {
  LayerStep::Workspace& work = *step.workspace;
  work.segments.resize(static_cast<size_t>(step.kv_heads));
  work.tasks.clear();
  for (int head = 0; head < step.kv_heads; ++head) {
    if (!step.attends(head)) continue;
    KeySegment& keys = work.segments[static_cast<size_t>(head)] = step.all_keys(head);
    work.tasks.push_back({head * step.group(), step.group(), 0, rows, step.begin, {&keys, 1}});
  }
  const View<const float> queries[] = {step.rotated_q()};
  step.attend(queries, work.tasks);
}

}  // namespace longhaul
