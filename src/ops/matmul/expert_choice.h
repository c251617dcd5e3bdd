#pragma once
// Chooses the experts of a mixture that process a row.

#include <cstdint>

namespace longhaul {

struct ExpertChoice {
  int32_t expert = 0;
  float weight = 0;
};

/// Rule that converts a router's logits to choices.
struct ExpertRule {
  /// Weights add up to 1: they are divided by their sum.
  bool among_chosen = true;
  /// If true, each score is the sigmoid of a logit (DeepSeek-V3, arXiv:2412.19437, section 2.1.2).
  /// Otherwise scores are the softmax over all experts.
  bool sigmoid = false;
  /// [experts] or null. Added to the scores when experts are chosen, but not to the weights.
  const float* choice_bias = nullptr;
  float scale = 1;  ///< factor of all weights
  /// Experts are in `groups` groups of equal size, and a row uses experts of the best `groups_used`
  /// of them only (DeepSeek-V2, arXiv:2405.04434, section 2.2.2).
  int groups = 1, groups_used = 1;
  bool best_of_group =
      false;  ///< a group counts by its best score, else by the sum of its two best
  const float* expert_scales = nullptr;  ///< [experts] or null: factors of the experts' weights
};

/// Chooses the `used` experts with the largest scores for each row of `logits` [rows, experts].
/// Among equal scores the lower expert number wins. `chosen` is [rows, used]. The choices of a row
/// are in ascending order of the expert numbers. Weights are the scores.
void choose_experts(const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen);

}  // namespace longhaul
