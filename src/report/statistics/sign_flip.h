#pragma once
// The sign-flip permutation test of a mean. All flips are counted. A random sample of N flips could
// not determine p values below about 1 / N, but Holm's correction over many rows needs small p
// values.

#include <span>

namespace longhaul {

/// Returns the two-sided p value. For k nonzero differences, there are 2^k choices of signs. p is
/// the share of the choices whose sum is at least as far from 0 as the observed sum. The result is
/// exact for up to 32 differences. It is also exact for more differences if they are multiples of a
/// common step 1/q with q up to 5,040 (zeros and ones, or shares of a number of words). Otherwise
/// the differences are rounded to multiples of 1/32,768 of the sum of their absolute values. Their
/// sum does not change.
double sign_flip_p(std::span<const double> differences);

}  // namespace longhaul
