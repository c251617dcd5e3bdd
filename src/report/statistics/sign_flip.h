#pragma once
// The sign-flip permutation test of a mean. All flips are counted instead of sampling some. With N
// sampled flips no p value below about 1 / N could be determined, and Holm's correction over many
// rows needs such small ones.

#include <span>

namespace longhaul {

/// Two-sided p: the share of all 2^k sign choices for the k nonzero differences whose sum is as far
/// from 0 as the observed one. It is exact for up to 32 differences, and for more that are
/// multiples of a common step (1/q with q up to 5,040: zeros and ones, shares of a number of
/// words). Otherwise the differences are rounded to 1/32,768 of the sum of their absolute values,
/// preserving their own sum.
double sign_flip_p(std::span<const double> differences);

}  // namespace longhaul
