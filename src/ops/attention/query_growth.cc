#include "ops/attention/query_growth.h"

#include <cmath>

#include "base/assert.h"
#include "base/parallel.h"

namespace longhaul {

void grow_queries(float* x, int64_t rows, int64_t n, int64_t first, const QueryGrowth& growth) {
  LH_ASSERT(growth.length > 0 && first >= 0);
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t lengths = (first + r) / growth.length;
      if (lengths == 0) continue;
      const double more = double{growth.rate} * std::log1p(static_cast<double>(lengths));
      const auto scale = static_cast<float>(1 + more);
      for (int64_t i = r * n; i < (r + 1) * n; ++i) x[i] *= scale;
    }
  });
}

}  // namespace longhaul
