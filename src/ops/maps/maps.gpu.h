#pragma once
// Launchers of this folder's operations. Each computes the operation of its name (column_sums.h and
// so on) on a CUDA device and returns false, without effects, if its kernels do not support the
// call.

#include <span>

#include "ops/attention/attend.gpu.h"
#include "ops/maps/block_mass.h"
#include "ops/maps/column_sums.h"
#include "ops/maps/line_sums.h"
#include "ops/maps/score_scratch.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Supported head dimensions are 64, 80, 96, 112, 128 and 256, and lists of pages must be in device
/// memory. Products are bf16 x bf16 with f32 sums for every value of `compute`. The order of
/// additions depends only on the shapes.
bool column_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets, ScoreScratch& scratch);

/// Has the conditions of column_sums(), and supports at most 2,048 rows.
bool line_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
               std::span<const LineSums> sums, ScoreScratch& scratch);

/// Has the conditions of column_sums(), except that head dimensions must be multiples of 16 (Q8_0:
/// 32). Pages may have any power of two of rows. Blocks must have at least 8 keys. Keys that need
/// RoPE on read are not supported.
bool block_mass(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses, ScoreScratch& scratch);

/// Has the conditions of column_sums(). Queries and keys are rounded to bf16 for every value of
/// `compute`. There is one exception: block-type keys are multiplied as stored if no task has more
/// than 8 pairs of a row and a head. `pages` is the range that Hopper's copy engine can read. It is
/// empty on other cards.
bool top_keys(Stream stream, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
              const PageRange& pages, ScoreScratch& scratch);

/// Writes the means to out [blocks, head_dim]. The list of pages must be in device memory.
bool mean_keys(Stream stream, const PagedRows& rows, int64_t count, int block, View<float> out);

}  // namespace longhaul::cuda
