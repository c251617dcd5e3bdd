#pragma once
// Weights that are not finite numbers give logits that are not finite. Such a model is refused with
// a one-line message as soon as that is detected.

#include <span>

namespace longhaul {

/// Throws UserError: the model gives no finite logit.
[[noreturn]] void refuse_damaged_weights();

/// Throws that error if a logit is NaN or infinite. One row of damaged weights is enough: the row
/// of a token in the embedding, if the embedding is the output matrix as well.
void expect_finite_logits(std::span<const float> logits);

}  // namespace longhaul
