#include "attention/parts/stride_budget.h"

#include "base/error.h"

namespace longhaul {

void StrideBudget::check(std::string_view method, std::string_view key) const {
  if (budget >= sink + recent_rows()) return;
  user_error("--attention {}: {}={}: must be at least sink + recent = {} + {}", method, key, budget,
             sink, recent_rows());
}

Plan StrideBudget::plan() const {
  Plan plan;
  plan.keep = {.when = When::kStride,
               .budget = budget,
               .sink = sink,
               .recent = recent_rows(),
               .stride = stride,
               .whole_strides = true};
  plan.see.place = positions == Positions::kCache ? KeyPlace::kList : KeyPlace::kText;
  return plan;
}

}  // namespace longhaul
