#pragma once
// ObservationWindow contains what SnapKV (arXiv:2404.14469) and PyramidKV (arXiv:2406.02069) have
// in common. After prefill, stored rows are scored by the attention that they received from the
// last query rows, the observation window. The scores are pooled over neighbouring rows (average or
// maximum).

#include "attention/registry.h"
#include "base/error.h"
#include "base/nth.h"
#include "ops/choose/pool_scores.h"

namespace longhaul {

struct ObservationWindow {
  enum class Per : uint8_t { kKvHead, kQueryHead };
  int64_t window = 32, kernel = 5;
  Pooling pooling = Pooling::kAverage;
  Per per = Per::kKvHead;

  void declare_window(OptionList& o) {
    o.integer(window, "window", 1, 4096, "tokens",
              "queries at the prompt's end that score the keys; always kept");
    o.integer(kernel, "kernel", 1, 255, "tokens", "neighbouring keys whose scores are pooled; odd");
    o.choice(pooling, "pooling", {"avg", "max"}, "how scores are pooled");
  }
  void declare_per(OptionList& o) {
    o.choice(per, "per", {"kv_head", "query_head"},
             "whose choice it is; query_head stores keys once for every query head, as published");
  }

  /// Throws UserError if `kernel` (the number of pooled neighbours) is even, or if the window is
  /// not smaller than `capacity`.
  void check_window(std::string_view method, int64_t capacity) const {
    if (kernel % 2 == 0) user_error("--attention {}: kernel={}: must be odd", method, kernel);
    if (window < capacity) return;
    user_error("--attention {}: capacity={}: must be above window={}", method, capacity, window);
  }

  MethodPlan window_plan() const {
    return {.when = When::kPromptEnd,
            .chooser = per == Per::kQueryHead ? Chooser::kQueryHead : Chooser::kKvHead,
            .observation_window = window,
            .rewinds = true};
  }
  ListPlan list_plan(int64_t budget) const {
    return {.keep = {.budget = budget, .recent = window}};
  }

  /// Writes the pooled scores of all rows before the window to due.scores. The rows of the window
  /// itself get no scores, because they are always kept.
  void pool_votes(const Eviction& due) const {
    for (int list = 0; list < due.lists; ++list) {
      const int64_t early = due.rows(list) - due.recent;
      pool_scores(due.queue, nth(due.received, list).part(0, early), static_cast<int>(kernel),
                  pooling, nth(due.scores, list).part(0, early));
    }
  }
};

}  // namespace longhaul
