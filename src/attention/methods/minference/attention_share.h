#pragma once
// Computes which share of a query head's attention a subset of the keys receives. MInference uses
// this share to select the sparse pattern of a head (arXiv:2407.02490).

#include <span>

#include "base/host_stage.h"

namespace longhaul {

/// Writes the share of each query head h to shares[h]: the mean of exp(lse[r, h] - all[r, h]) over
/// the query rows r in [first, rows). `lse` and `all`, [rows, heads], are the logs of the softmax
/// denominators over the subset and over all keys. Waits for the result if a device computes it.
void attention_shares(Queue& queue, View<const float> lse, View<const float> all, int64_t first,
                      std::span<double> shares);

}  // namespace longhaul
