#pragma once
// Computes KeyDiff's score of keys (arXiv:2504.15364). It measures how much a key differs from the
// mean direction of the keys in its list.
//
//   anchor    = mean over the rows j of key[j] / |key[j]|
//   score[i]  = -cos(key[i], anchor),   keys as they are stored

#include "ops/attention/attention.h"

namespace longhaul {

/// Writes the scores of stored rows [0, scores.size()), which must be the whole list. The anchor is
/// summed in double precision, because the cosines differ little. The result does not depend on the
/// number of threads.
void key_difference(Queue& queue, const PagedRows& rows, View<float> scores);
inline const DeviceOperation<bool(const PagedRows&, View<float> scores)> kKeyDifference;

}  // namespace longhaul
