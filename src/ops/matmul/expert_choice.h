#pragma once
// Which of a mixture's experts a row is sent to.

#include <cstdint>

namespace longhaul {

struct ExpertChoice {
  int32_t expert = 0;
  float weight = 0;
};

/// Of each row of `logits` [rows, experts] the `used` largest, of equal ones the first: `chosen`
/// [rows, used], by their number. Weights are the softmax over all experts, or over the chosen ones
/// alone (`among_chosen`), which is the same as dividing by their sum.
void choose_experts(const float* logits, int64_t rows, int experts, int used, bool among_chosen,
                    ExpertChoice* chosen);

}  // namespace longhaul
