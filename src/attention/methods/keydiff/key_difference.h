#pragma once
// Computes the scores of KeyDiff (arXiv:2504.15364). The score of a key measures how much the key
// differs from the mean direction of all keys in its list. A list holds the stored rows of one KV
// head.
//
//   anchor    = mean over the rows j of key[j] / |key[j]|
//   score[i]  = -cos(key[i], anchor),   keys as they are stored

#include "ops/attention/attention.h"

namespace longhaul {

/// Writes the scores of all rows of a list to `scores`. The anchor is summed in double precision,
/// because the cosines of different keys are nearly equal. The result does not depend on the number
/// of threads.
void key_difference(Queue& queue, const PagedRows& rows, View<float> scores);
inline const DeviceOperation<bool(const PagedRows&, View<float> scores)> kKeyDifference;

}  // namespace longhaul
