#pragma once
// Weights that are no numbers give logits that are none. Such a model is refused wherever that
// shows, with one line.

#include <span>

namespace longhaul {

/// Throws UserError: the model gives no finite logit.
[[noreturn]] void refuse_damaged_weights();

/// Throws the same where a logit is no number or infinite. One row of damaged weights is enough
/// for that: the embedding of a token, where it is the output matrix as well.
void expect_finite_logits(std::span<const float> logits);

}  // namespace longhaul
