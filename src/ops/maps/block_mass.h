#pragma once
// Computes the attention probability that each block of keys receives from a query row. A block is
// a range of `block` consecutive keys. The keys are read only once, and the softmax map (all
// probabilities) is never stored.
//
//   mass[r, h, b] = sum over keys j of block b that row r sees of softmax_j(scale * q[r, h] . k[j])

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// Returns the number of blocks into which `keys` keys are divided. The last block may be shorter.
inline int64_t block_count(int64_t keys, int64_t block) { return (keys + block - 1) / block; }

/// Writes the masses of tasks[i] to masses[i] [row_count, head_count, blocks]. Each task has one
/// segment. Its keys are divided into blocks of `block` keys, beginning with the first key. `block`
/// must divide 128. Also writes the natural log of the rows' softmax denominators to `call.lse`
/// [rows, heads]. Does not use `call.out`. If a row sees no key, its masses are zero and its lse is
/// -infinity. The result does not depend on the number of threads.
void block_mass(const AttendCall& call, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>, int block,
                                  std::span<const View<float>> masses)>
    kBlockMass;

}  // namespace longhaul
