#pragma once
// Detects models with damaged weights. Weights that are not finite numbers give logits that are not
// finite. The model is then rejected with a message of one line.

#include <span>

namespace longhaul {

/// Throws the UserError for a model whose logits are not finite.
[[noreturn]] void refuse_damaged_weights();

/// Throws the same error if a logit is NaN or infinite. A single damaged row of weights is enough
/// for this. An example is the row of one token in an embedding that is also the output matrix.
void expect_finite_logits(std::span<const float> logits);

}  // namespace longhaul
