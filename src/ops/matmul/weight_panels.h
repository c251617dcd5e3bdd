#pragma once
// Weight matrices cut into stretches of outputs that threads take turns at.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/matmul/linear.h"

namespace longhaul {

/// Tiles of `side` elements that hold `n` of them, and the elements of these tiles.
inline int64_t count_tiles(int64_t n, int64_t side) { return (n + side - 1) / side; }
inline int64_t pad_to_tiles(int64_t n, int64_t side) { return count_tiles(n, side) * side; }

/// Floats from one row of the job's y to the next.
inline int64_t stride_of(const LinearJob& job) {
  return job.y_stride == 0 ? job.weight.rows() : job.y_stride;
}

/// Outputs [begin, begin + count) of one job.
struct WeightPanel {
  const LinearJob* job;
  int64_t begin, count;
};

/// Panels of at most `most_outputs` outputs, several a thread where there are that many units; each
/// a multiple of `unit`, which divides most_outputs (but for a job's last one, which may be
/// narrower).
std::vector<WeightPanel> cut_to_panels(std::span<const LinearJob> jobs, int64_t unit,
                                       int64_t most_outputs);
/// Panels of `width` outputs, whatever the number of threads.
std::vector<WeightPanel> cut_to_equal_panels(std::span<const LinearJob> jobs, int64_t width);

}  // namespace longhaul
