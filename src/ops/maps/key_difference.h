#pragma once
// Computes KeyDiff's score (arXiv:2504.15364), which is the dissimilarity of a key and the mean
// direction of its list.
//
//   anchor    = mean over the rows j of key[j] / |key[j]|
//   score[i]  = -cos(key[i], anchor),   keys as they are stored

#include "ops/attention/attention.h"

namespace longhaul {

/// Scores the stored rows [0, scores.size()), which are the whole list. The anchor is summed in
/// double precision, because the cosines differ little. The result does not depend on the number of
/// threads.
void key_difference(Queue& queue, const PagedRows& rows, View<float> scores);
inline const DeviceOperation<bool(const PagedRows&, View<float> scores)> kKeyDifference;

}  // namespace longhaul
