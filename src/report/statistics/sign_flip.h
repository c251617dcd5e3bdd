#pragma once
// The sign-flip permutation test of a mean. All flips are counted instead of drawing some of them:
// with N drawn flips no p value below about 1 / N could be told, and Holm's correction over many
// rows needs such small ones.

#include <span>

namespace longhaul {

/// Two-sided p: the share of all 2^k signs of the k differences other than 0 whose sum is as far
/// from 0 as the observed one. Exact for up to 32, and for more that are multiples of a common step
/// (1/q with q up to 5,040: zeros and ones, shares of so many words); else the differences are
/// rounded to 1/32,768 of the sum of their sizes, so that their own sum keeps its value.
double sign_flip_p(std::span<const double> differences);

}  // namespace longhaul
