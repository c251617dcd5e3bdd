#pragma once
// Implements the sign-flip permutation test of a mean. It counts all choices of signs. A random
// sample of N choices could not determine p values below about 1 / N, but Holm's correction for
// many tests needs small p values.

#include <span>

namespace longhaul {

/// Returns the two-sided p value of `differences`. The sign of each of the k nonzero differences is
/// chosen freely, which gives 2^k choices. p is the share of the choices whose sum is at least as
/// far from 0 as the observed sum. The result is exact for up to 32 differences. It is also exact
/// for more differences if all are multiples of a common step 1/q with q up to 5,040, as for scores
/// of 0 and 1. Otherwise the differences are rounded to multiples of 1/32,768 of the sum of their
/// absolute values, such that the sum of the differences does not change.
double sign_flip_p(std::span<const double> differences);

}  // namespace longhaul
