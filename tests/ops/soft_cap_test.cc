#include "ops/core/soft_cap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/isa_fixture.h"

namespace longhaul {
namespace {

TEST(SoftCap, EqualsTheTangentInDouble) {
  at_every_isa([] {
    std::vector<float> x;
    for (float v = -500; v < 500; v += 0.173f) x.push_back(v);
    for (const float cap : {0.0f, 4.0f, 30.0f}) {
      std::vector<float> y = x;
      scale_and_cap(y.data(), static_cast<int64_t>(y.size()), 0.25f, cap);
      for (size_t i = 0; i < x.size(); ++i) {
        const double scaled = 0.25 * static_cast<double>(x[i]), c = static_cast<double>(cap);
        ASSERT_NEAR(y[i], cap > 0 ? c * std::tanh(scaled / c) : scaled, 1e-5 * (1 + c)) << x[i];
      }
    }
  });
}

}  // namespace
}  // namespace longhaul
