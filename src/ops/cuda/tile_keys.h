#pragma once
// Lines of attention maps and the keys that tiles of rows see: choose_lines() of ops/line_choice.h
// and what ops/tile_lists.h is made of on a CUDA device.

#include <span>

#include "ops/cuda/page_phases.h"
#include "ops/cuda/score_scratch.h"
#include "ops/cuda/tile_phases.h"

namespace longhaul::cuda {

/// The lines of a query head: columns, and diagonals, of which runs are made. Addresses are the
/// device's.
struct LinesTask {
  SelectTask columns, diagonals;
  RunTask runs;
};

void choose_lines(Stream stream, std::span<const LinesTask> tasks, ScoreScratch& scratch);
void list_tile_keys(Stream stream, std::span<const TileTask> tasks, ScoreScratch& scratch);
void list_tile_pages(Stream stream, std::span<const PageTask> tasks, ScoreScratch& scratch);

}  // namespace longhaul::cuda
