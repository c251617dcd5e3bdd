#pragma once
// Chooses the experts that process a row in a mixture of experts.

#include <cstdint>

namespace longhaul {

struct ExpertChoice {
  int32_t expert = 0;
  float weight = 0;
};

/// Rule that converts a router's logits to choices.
struct ExpertRule {
  /// If true, the weights of a row are divided by their sum, so that they add up to 1.
  bool among_chosen = true;
  /// If true, each score is the sigmoid of a logit (DeepSeek-V3, arXiv:2412.19437, section 2.1.2).
  /// Otherwise scores are the softmax over all experts.
  bool sigmoid = false;
  /// [experts] or null. It is added to the scores when experts are chosen, but does not affect the
  /// weights.
  const float* choice_bias = nullptr;
  float scale = 1;  ///< factor of all weights
  /// Experts are divided into `groups` groups of equal size. A row uses only experts of the best
  /// `groups_used` groups (DeepSeek-V2, arXiv:2405.04434, section 2.2.2).
  int groups = 1, groups_used = 1;
  /// Whether the score of a group is its best score. Otherwise it is the sum of its two best
  /// scores.
  bool best_of_group = false;
  const float* expert_scales = nullptr;  ///< [experts] or null: factors of the experts' weights
};

/// Chooses the `used` experts with the largest scores for each row of `logits` [rows, experts]. If
/// scores are equal, the lower expert number is preferred. `chosen` is [rows, used]. The choices of
/// a row are in ascending order of expert numbers. The weight of a choice is its score, modified by
/// the rule.
void choose_experts(const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen);

}  // namespace longhaul
