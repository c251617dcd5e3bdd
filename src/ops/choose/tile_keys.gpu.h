#pragma once
// Implements choose_lines() of ops/choose/line_choice.h and the lists of ops/choose/tile_lists.h on
// a CUDA device.

#include <span>

#include "ops/choose/page_phases.h"
#include "ops/choose/tile_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// The selection of the lines of one query head: its columns, its diagonals, and the runs that are
/// formed from the diagonals. All addresses are device addresses.
struct LinesTask {
  SelectTask columns, diagonals;
  RunTask runs;
};

void choose_lines(Stream stream, std::span<const LinesTask> tasks, ScoreScratch& scratch);
void list_tile_keys(Stream stream, std::span<const TileTask> tasks, ScoreScratch& scratch);
void list_tile_pages(Stream stream, std::span<const PageTask> tasks, ScoreScratch& scratch);

}  // namespace longhaul::cuda
