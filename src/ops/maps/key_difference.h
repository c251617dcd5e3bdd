#pragma once
// KeyDiff's score (arXiv:2504.15364): how little a key looks like the mean direction of its list.
//
//   anchor    = mean over the rows j of key[j] / |key[j]|
//   score[i]  = -cos(key[i], anchor),   keys as they are stored

#include "ops/attention/attention.h"

namespace longhaul {

/// Scores of stored rows [0, scores.size()), which are the list. The anchor is a sum in double
/// precision, since cosines lie close to one another. The result does not depend on the number of
/// threads.
void key_difference(Queue& queue, const PagedRows& rows, View<float> scores);

}  // namespace longhaul
