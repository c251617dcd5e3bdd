#pragma once
// Weight matrices divided into ranges of outputs, which threads process in turn.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/matmul/linear.h"

namespace longhaul {

/// Number of tiles of `side` elements that hold `n` elements, and the size of these tiles in total.
inline int64_t count_tiles(int64_t n, int64_t side) { return (n + side - 1) / side; }
inline int64_t pad_to_tiles(int64_t n, int64_t side) { return count_tiles(n, side) * side; }

/// Floats between rows of the job's y.
inline int64_t stride_of(const LinearJob& job) {
  return job.y_stride == 0 ? job.weight.rows() : job.y_stride;
}

/// Outputs [begin, begin + count) of one job.
struct WeightPanel {
  const LinearJob* job;
  int64_t begin, count;
};

/// Panels of at most `most_outputs` outputs, several per thread if there are enough units. Each is
/// a multiple of `unit`, which divides most_outputs, except that a job's last panel may be
/// narrower.
std::vector<WeightPanel> cut_to_panels(std::span<const LinearJob> jobs, int64_t unit,
                                       int64_t most_outputs);
/// Panels of `width` outputs, independent of the number of threads.
std::vector<WeightPanel> cut_to_equal_panels(std::span<const LinearJob> jobs, int64_t width);

}  // namespace longhaul
