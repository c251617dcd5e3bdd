#include "attention/parts/observation_window.h"

#include "base/error.h"

namespace longhaul {

void ObservationWindow::check(std::string_view method, int64_t capacity) const {
  if (kernel % 2 == 0) user_error("--attention {}: kernel={}: must be odd", method, kernel);
  if (window < capacity) return;
  user_error("--attention {}: capacity={}: must be above window={}", method, capacity, window);
}

Plan ObservationWindow::plan(int64_t budget) const {
  Plan plan;
  plan.keep.when = When::kPromptEnd;
  plan.keep.chooser = per == Per::kQueryHead ? Chooser::kQueryHead : Chooser::kKvHead;
  plan.keep.budget = budget;
  plan.keep.recent = plan.watch = window;
  plan.rewinds = true;
  return plan;
}

/// The window's own rows take no part in the pooling: they stay.
void ObservationWindow::score(const Cut& cut) const {
  for (int list = 0; list < cut.lists; ++list) {
    const auto l = static_cast<size_t>(list);
    const int64_t early = cut.rows(list) - cut.recent;
    pool_scores(cut.queue, cut.paid[l].part(0, early), static_cast<int>(kernel), pooling,
                cut.scores[l].part(0, early));
  }
}

}  // namespace longhaul
