#pragma once
// The sign-flip permutation test of a mean. All flips are counted. With a sample of N flips, no p
// value below about 1 / N could be determined, but Holm's correction over many rows needs small p
// values.

#include <span>

namespace longhaul {

/// Returns the two-sided p. k nonzero differences have 2^k choices of signs, and p is the share of
/// the choices whose sum is at least as far from 0 as the observed sum. The result is exact for up
/// to 32 differences. It is also exact for more differences if they are multiples of a common step
/// 1/q with q up to 5,040 (zeros and ones, shares of a number of words). Otherwise the differences
/// are rounded to 1/32,768 of the sum of their absolute values, so that their sum does not change.
double sign_flip_p(std::span<const double> differences);

}  // namespace longhaul
