#pragma once
// Which of a mixture's experts a row is sent to.

#include <cstdint>

namespace longhaul {

struct ExpertChoice {
  int32_t expert = 0;
  float weight = 0;
};

/// How a router's logits become choices.
struct ExpertRule {
  /// Weights add up to 1: they are divided by their sum.
  bool among_chosen = true;
  /// Scores are sigmoids of the logits (DeepSeek-V3, arXiv:2412.19437, section 2.1.2), each for
  /// itself. Else they are the softmax over all experts.
  bool sigmoid = false;
  /// [experts], added to the scores for the choice alone, not to the weights; null: nothing. With
  /// sigmoids only.
  const float* choice_bias = nullptr;
  float scale = 1;  ///< times the weights
};

/// Chooses for each row of `logits` [rows, experts] the `used` experts with the largest scores, of
/// equal ones the first: `chosen` [rows, used], by their number. Weights are the scores.
void choose_experts(const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen);

}  // namespace longhaul
