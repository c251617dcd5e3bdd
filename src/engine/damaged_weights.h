#pragma once
// Detects models with damaged weights. Weights that are NaN or infinite cause logits that are NaN
// or infinite. Such a model is rejected with an error message of one line.

#include <span>

namespace longhaul {

/// Throws the UserError for a model whose logits are NaN or infinite.
[[noreturn]] void refuse_damaged_weights();

/// Throws the same error if a logit is NaN or infinite. One damaged row of weights is enough for
/// this, for example a row of an embedding that is also used to compute the logits.
void expect_finite_logits(std::span<const float> logits);

}  // namespace longhaul
