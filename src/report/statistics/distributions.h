#pragma once
// Computes distribution functions, which intervals and tests need.

#include <cstdint>

namespace longhaul {

/// The 97.5 % quantile of the standard normal distribution. Every interval of a report is a 95 %
/// interval.
inline constexpr double kNormal975 = 1.959963984540054;

/// Returns the regularised incomplete beta function I_x(a, b) for a, b > 0 and x in 0..1. It
/// evaluates the continued fraction DLMF 8.17.22 by Lentz's method.
double incomplete_beta(double a, double b, double x);

/// student_t_cdf() returns P(T <= t) for Student's t distribution with `degrees` > 0 degrees of
/// freedom. student_t_quantile() is its inverse, for 0 < p < 1.
double student_t_cdf(double t, double degrees);
double student_t_quantile(double p, double degrees);

/// Returns the two-sided p value of the exact binomial test for `successes` heads in `n` tosses of
/// a fair coin.
double sign_test_p(int64_t successes, int64_t n);

}  // namespace longhaul
