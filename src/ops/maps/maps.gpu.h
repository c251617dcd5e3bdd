#pragma once
// Launchers of the operations of this folder on a CUDA device. Each computes the operation of its
// name (column_sums.h and so on). If its kernels do not support the call, it returns false and does
// nothing.

#include <span>

#include "ops/attention/attend.gpu.h"
#include "ops/maps/block_mass.h"
#include "ops/maps/column_sums.h"
#include "ops/maps/line_sums.h"
#include "ops/maps/score_scratch.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Supports head dimensions 64, 80, 96, 112, 128 and 256. The page addresses (PagedRows::listed)
/// must be in device memory. Queries and keys are multiplied in bf16 with f32 sums, regardless of
/// `compute`. The order of additions depends only on the shapes.
bool column_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets, ScoreScratch& scratch);

/// Like column_sums(), but supports at most 2,048 rows.
bool line_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
               std::span<const LineSums> sums, ScoreScratch& scratch);

/// Has the conditions of column_sums() with four exceptions. Head dimensions need only be multiples
/// of 16 (for Q8_0: 32). Pages may have any power of two of rows. Blocks must have at least 8 keys.
/// Keys that need RoPE on read are not supported.
bool block_mass(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses, ScoreScratch& scratch);

/// Supports what column_sums() supports. Queries and keys are rounded to bf16, regardless of
/// `compute`, with one exception: keys in block formats are multiplied as stored if no task has
/// more than 8 flat rows (queries of one head of one query row). `pages` is the address range that
/// the tensor memory accelerator (TMA) of Hopper GPUs can read. It is empty on other cards.
bool top_keys(Stream stream, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
              const PageRange& pages, ScoreScratch& scratch);

/// Writes the means to out [blocks, head_dim]. The page addresses (PagedRows::listed) must be in
/// device memory.
bool mean_keys(Stream stream, const PagedRows& rows, int64_t count, int block, View<float> out);

}  // namespace longhaul::cuda
