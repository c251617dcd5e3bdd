#pragma once
// Computes column sums and diagonal (slash) sums of the softmax map of a prompt's last rows. A
// column sum is the attention probability of these rows for one key, and a diagonal sum is their
// probability at one distance between row and key (MInference, arXiv:2407.02490; FlexPrefill,
// arXiv:2502.20766). The map itself is never stored. In the formulas, lse is the log of the softmax
// denominator, and o is a distance.
//
//   columns[h, j]   = sum over rows r of p[r, h, j],    p = exp(scale * q[r, h] . k[j] - lse[r, h])
//   diagonals[h, o] = sum over rows r of p[r, h, position(r) - o]

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

struct LineSums {
  View<float> columns;    ///< [head_count, keys]
  View<float> diagonals;  ///< [head_count, keys], indexed by distance; a row's own key has distance
                          ///< 0
};

/// Writes the sums of tasks[i] to sums[i]. Each task has one causal range of keys, which ends with
/// the key of its last row. Reads `call.lse_in` [rows, heads], which attend() or block_mass() must
/// have written. Does not use `call.out`. Sums are f32, and the result does not depend on the
/// number of threads.
void line_sums(const AttendCall& call, std::span<const AttendTask> tasks,
               std::span<const LineSums> sums);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>,
                                  std::span<const LineSums>)>
    kLineSums;

/// Returns the size in bytes of the temporary memory for `rows` rows and `keys` keys. `heads` is
/// the total number of query heads.
size_t line_sums_bytes(int heads, int64_t rows, int64_t keys);

}  // namespace longhaul
