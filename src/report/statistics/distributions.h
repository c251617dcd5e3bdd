#pragma once
// The few distribution functions that intervals and tests need.

#include <cstdint>

namespace longhaul {

/// The standard normal's 97.5 % point: every interval of a report is a 95 % interval.
inline constexpr double kNormal975 = 1.959963984540054;

/// Regularised incomplete beta function I_x(a, b); a, b > 0, x in 0..1 (continued fraction, DLMF
/// 8.17.22, by Lentz's method).
double incomplete_beta(double a, double b, double x);

/// P(T <= t) and its inverse for Student's t with `degrees` > 0 degrees of freedom; 0 < p < 1.
double student_t_cdf(double t, double degrees);
double student_t_quantile(double p, double degrees);

/// Two-sided p of `successes` in `n` fair coin tosses: the exact binomial test with p = 1/2.
double sign_test_p(int64_t successes, int64_t n);

}  // namespace longhaul
