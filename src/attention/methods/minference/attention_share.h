#pragma once
// Computes how much of a query head's attention a subset of the keys receives. MInference uses this
// share to select the pattern of a head (arXiv:2407.02490).

#include <span>

#include "base/host_stage.h"

namespace longhaul {

/// Computes shares[h] for each of shares.size() heads. The share is the mean of exp(lse[r, h] -
/// all[r, h]) over rows r in [first, rows). `lse` and `all`, [rows, heads], are the logs of the
/// softmax denominators over the subset and over all keys. Waits until the result has been read
/// back.
void attention_shares(Queue& queue, View<const float> lse, View<const float> all, int64_t first,
                      std::span<double> shares);

}  // namespace longhaul
