#pragma once
// Selection of a mixture's experts for each row.

#include <cstdint>

namespace longhaul {

struct ExpertChoice {
  int32_t expert = 0;
  float weight = 0;
};

/// Selects the `used` largest logits of each row of `logits` [rows, experts]; ties go to the lower
/// number. `chosen` [rows, used] is sorted by number. Weights are the softmax over all experts, or
/// over the chosen ones only (`among_chosen`), which equals dividing by their sum.
void choose_experts(const float* logits, int64_t rows, int experts, int used, bool among_chosen,
                    ExpertChoice* chosen);

}  // namespace longhaul
