#include "report/statistics/distributions.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace longhaul {
namespace {

/// The continued fraction of the incomplete beta function; converges fast for x < (a+1)/(a+b+2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  constexpr int kMostTerms = 500;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double fraction = d;
  const auto step = [&](double term) {
    d = 1 + term * d;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = 1 + term / c;
    if (std::abs(c) < kTiny) c = kTiny;
    fraction *= d * c;
  };
  for (int m = 1; m <= kMostTerms; ++m) {
    step(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    step(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return fraction;
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  LH_ASSERT(a > 0 && b > 0 && x >= 0 && x <= 1);
  if (x == 0 || x == 1) return x;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_t_cdf(double t, double degrees) {
  const double tail = 0.5 * incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
  return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double p, double degrees) {
  LH_ASSERT(p > 0 && p < 1 && degrees > 0);
  if (p < 0.5) return -student_t_quantile(1 - p, degrees);
  double low = 0, high = 1;
  while (student_t_cdf(high, degrees) < p && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_t_cdf(middle, degrees) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double sign_test_p(int64_t successes, int64_t n) {
  LH_ASSERT(successes >= 0 && successes <= n);
  const int64_t fewer = std::min(successes, n - successes);
  const double count = static_cast<double>(n);
  double tail = 0;
  for (int64_t k = 0; k <= fewer; ++k) {
    const double x = static_cast<double>(k);
    tail += std::exp(std::lgamma(count + 1) - std::lgamma(x + 1) - std::lgamma(count - x + 1) -
                     count * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

}  // namespace longhaul
