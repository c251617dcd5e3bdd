#include "engine/damaged_weights.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace longhaul {

void refuse_damaged_weights() {
  user_error("the model gives no finite logit: its weights are damaged, or their type overflows");
}

void expect_finite_logits(std::span<const float> logits) {
  const bool finite =
      std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
  if (!finite) refuse_damaged_weights();
}

}  // namespace longhaul
