#pragma once
// Chooses the experts that process a row in a mixture of experts, and their weights.

#include <cstdint>

namespace longhaul {

struct ExpertChoice {
  int32_t expert = 0;
  float weight = 0;
};

/// The rule by which a router's logits determine the chosen experts and their weights.
struct ExpertRule {
  /// If true, the weights of the chosen experts of a row are divided by their sum, so that they add
  /// up to 1.
  bool among_chosen = true;
  /// If true, the score of an expert is the sigmoid of its logit (DeepSeek-V3, arXiv:2412.19437,
  /// section 2.1.2). Otherwise the scores of a row are the softmax of its logits.
  bool sigmoid = false;
  /// [experts] or null. It is added to the scores when experts are chosen, but it does not affect
  /// the weights.
  const float* choice_bias = nullptr;
  float scale = 1;  ///< factor by which all weights are multiplied
  /// The experts form `groups` groups of equal size. Only experts in the best `groups_used` groups
  /// can be chosen for a row (DeepSeek-V2, arXiv:2405.04434, section 2.2.2).
  int groups = 1, groups_used = 1;
  /// If true, the score of a group is its best score. Otherwise it is the sum of its two best
  /// scores.
  bool best_of_group = false;
  const float* expert_scales = nullptr;  ///< [experts] or null: factors by which the weights of the
                                         ///< experts are multiplied
};

/// Chooses the `used` experts with the largest scores for each row of `logits` [rows, experts]. If
/// scores are equal, the lower expert number is preferred. chosen [rows, used] receives the choices
/// of each row, in ascending order of expert numbers. The weight of a choice is its score, modified
/// by the rule.
void choose_experts(const float* logits, int64_t rows, int experts, int used,
                    const ExpertRule& rule, ExpertChoice* chosen);

}  // namespace longhaul
