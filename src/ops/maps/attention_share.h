#pragma once
// How much of its attention a query head finds among some of the keys (the search of MInference,
// arXiv:2407.02490).

#include <span>

#include "base/host_stage.h"

namespace longhaul {

/// shares[h], for each of shares.size() heads: the mean over rows [first, rows) of
///   exp(lse[r, h] - all[r, h])
/// where `lse` and `all`, [rows, heads], are the logs of the softmax denominators over some keys
/// and over all. The result is read back: returns when it is there.
void attention_shares(Queue& queue, View<const float> lse, View<const float> all, int64_t first,
                      std::span<double> shares);

}  // namespace longhaul
