#pragma once
// Splits weight matrices into panels. A panel is a range of the outputs (rows of the matrix). Each
// thread processes one panel after another.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/matmul/linear.h"

namespace longhaul {

/// Returns how many tiles of `side` elements are needed for `n` elements.
inline int64_t count_tiles(int64_t n, int64_t side) { return (n + side - 1) / side; }
/// Returns `n` rounded up to a multiple of `side`: the number of elements in these tiles.
inline int64_t pad_to_tiles(int64_t n, int64_t side) { return count_tiles(n, side) * side; }

/// Returns the number of floats between the beginnings of two rows of the job's y.
inline int64_t stride_of(const LinearJob& job) {
  return job.y_stride == 0 ? job.weight.rows() : job.y_stride;
}

/// Outputs [begin, begin + count) of one job.
struct WeightPanel {
  const LinearJob* job;
  int64_t begin, count;
};

/// Splits the matrices of the jobs into panels of at most `most_outputs` outputs. Panels are so
/// narrow that each thread gets several of them, but have at least `unit` outputs. The number of
/// outputs of a panel is a multiple of `unit`, except in the last panel of a job. `most_outputs`
/// must be a multiple of `unit`.
std::vector<WeightPanel> cut_to_panels(std::span<const LinearJob> jobs, int64_t unit,
                                       int64_t most_outputs);
/// Splits the matrices of the jobs into panels of `width` outputs, independently of the number of
/// threads.
std::vector<WeightPanel> cut_to_equal_panels(std::span<const LinearJob> jobs, int64_t width);

}  // namespace longhaul
