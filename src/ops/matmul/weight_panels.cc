#include "ops/matmul/weight_panels.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"

namespace longhaul {

std::vector<WeightPanel> cut_to_panels(std::span<const LinearJob> jobs, int64_t unit,
                                       int64_t most_outputs) {
  LH_ASSERT(most_outputs % unit == 0);
  int64_t outputs = 0;
  for (const LinearJob& job : jobs) outputs += job.weight.rows();
  // Several panels per thread, so that the threads finish at about the same time.
  const int64_t share = pad_to_tiles(outputs / (4 * thread_count()) + 1, unit);
  return cut_to_equal_panels(jobs, std::min(share, most_outputs));
}

std::vector<WeightPanel> cut_to_equal_panels(std::span<const LinearJob> jobs, int64_t width) {
  std::vector<WeightPanel> panels;
  for (const LinearJob& job : jobs) {
    for (int64_t n = 0; n < job.weight.rows(); n += width) {
      panels.push_back({&job, n, std::min(width, job.weight.rows() - n)});
    }
  }
  return panels;
}

}  // namespace longhaul
