#pragma once
// Computes the attention probability of a row for every block of keys. The softmax map is summed
// over ranges of `block` keys in one pass over the keys, and is never stored.
//
//   mass[r, h, b] = sum over keys j of block b that row r sees of softmax_j(scale * q[r, h] . k[j])

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// Returns the number of blocks for `keys` keys. The last block may be shorter.
inline int64_t block_count(int64_t keys, int64_t block) { return (keys + block - 1) / block; }

/// Writes masses[i] [row_count, head_count, blocks] for tasks[i], whose only segment is divided
/// into blocks of `block` keys from its first key on. Writes `call.lse` [rows, heads], the rows'
/// softmax denominators (natural log). `block` divides 128. `call.out` is not used. Rows that see
/// no key have masses of zero and lse = -infinity. The result does not depend on the number of
/// threads.
void block_mass(const AttendCall& call, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses);
inline const DeviceOperation<bool(const AttendCall&, std::span<const AttendTask>, int block,
                                  std::span<const View<float>> masses)>
    kBlockMass;

}  // namespace longhaul
