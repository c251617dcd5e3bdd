// The best logits compared with a sort in the sampler's order.

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "on_device.h"
#include "ops/core/logits.gpu.h"

namespace longhaul::cuda {
namespace {

struct Candidate {
  float logit;
  int32_t id;
};

/// Collects and orders like engine/sampler.cc.
std::vector<Candidate> by_definition(const float* logits, size_t n) {
  std::vector<Candidate> all;
  for (size_t i = 0; i < n; ++i) {
    if (std::isnan(logits[i]) || logits[i] == -INFINITY) continue;
    all.push_back({std::min(logits[i], FLT_MAX), static_cast<int32_t>(i)});
  }
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  });
  return all;
}

std::vector<float> logits_with_ties(size_t n, uint32_t seed, int kind) {
  std::vector<float> x = random_floats(n, seed, 8);
  if (kind == 1) {  // few different values
    for (float& v : x) v = std::round(v / 8) * 3;
  }
  if (kind == 2) {
    for (size_t i = 0; i < n; ++i) x[i] = i % 2 == 0 ? -0.0f : 0.0f;
  }
  if (kind == 3) {  // few candidates
    for (size_t i = 0; i < n; ++i) x[i] = i % 97 == 5 ? x[i] : i % 2 == 0 ? NAN : -INFINITY;
  }
  if (kind == 4) x[n / 2] = x[n / 3] = INFINITY, x[n / 4] = FLT_MAX;
  if (kind == 5) std::fill(x.begin(), x.end(), -INFINITY);
  return x;
}

const size_t kSizes[] = {1, 2, 255, 256, 257, 4096, 4097, 49152, 128256, 151937, 262145};

TEST(CudaLogits, Argmax) {
  const LogitScratch scratch(nullptr, 3);
  for (const size_t n : kSizes) {
    for (int kind = 0; kind < 6; ++kind) {
      std::vector<float> x;
      for (uint32_t r = 0; r < 3; ++r) {
        const std::vector<float> row = logits_with_ties(n, r, kind);
        x.insert(x.end(), row.begin(), row.end());
      }
      const OnDevice<float> there(x, 1);
      const OnDevice<int32_t> best(3);
      argmax(nullptr, there.data(), 3, static_cast<int64_t>(n), scratch, best.data());
      const std::vector<int32_t> got = best.get();
      for (size_t r = 0; r < 3; ++r) {
        const auto all = by_definition(x.data() + r * n, n);
        EXPECT_EQ(got[r], all.empty() ? -1 : all[0].id) << n << " kind " << kind;
      }
    }
  }
}

TEST(CudaLogits, BestOfAll) {
  const LogitScratch scratch(nullptr, 1);
  for (const size_t n : kSizes) {
    for (int kind = 0; kind < 6; ++kind) {
      for (const int count : {1, 40, 256}) {
        const std::vector<float> x = logits_with_ties(n, 7, kind);
        const OnDevice<float> there(x), values(static_cast<size_t>(count));
        const OnDevice<int32_t> ids(static_cast<size_t>(count));
        best_logits(nullptr, there.data(), static_cast<int64_t>(n), count, scratch, ids.data(),
                    values.data());
        const auto all = by_definition(x.data(), n);
        const auto got_ids = ids.get();
        const auto got = values.get();
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
          ASSERT_EQ(got_ids[i], i < all.size() ? all[i].id : -1) << n << " kind " << kind;
          ASSERT_EQ(got[i], i < all.size() ? all[i].logit : -INFINITY) << n << " kind " << kind;
        }
      }
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
