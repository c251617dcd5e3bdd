#include "ops/maps/block_mass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/host_copies.h"
#include "ops/core/thread_scratch.h"
#include "ops/maps/block_mass_kernels.h"

namespace longhaul {
namespace {

constexpr int64_t kUnitElements = int64_t{128} << 10;  // elements of a unit's query rows
constexpr int64_t kUnitKeys = 32 * kTileKeys;

/// One task's sums before normalisation.
struct Unscaled {
  const AttendTask* task;
  float* sums;  ///< [flat rows, blocks]
  float* tops;  ///< [flat rows, tiles]
  int64_t blocks, tiles;
};

void check(const AttendCall& call, const AttendTask& task, int block) {
  LH_ASSERT(block > 0 && kTileKeys % block == 0 && task.segments.size() == 1);
  LH_ASSERT(task.head_begin >= 0 && task.head_begin + task.head_count <= call.heads);
  check_segment(call, task.segments[0]);
}

void add_units(const HostCall& call, const Unscaled& whole, int block,
               std::vector<BlockMassUnit>& units) {
  const AttendTask& task = *whole.task;
  const int64_t flat = std::clamp<int64_t>(kUnitElements / call.head_dim, kTileRows, kUnitRows);
  const int step = static_cast<int>(std::max<int64_t>(1, flat / task.head_count));
  for (int row = 0; row < task.row_count; row += step) {
    BlockMassUnit unit{};
    unit.rows.call = &call;
    unit.rows.segments = task.segments.data();
    unit.rows.segment_count = 1;
    unit.rows.head_begin = task.head_begin;
    unit.rows.head_count = task.head_count;
    unit.rows.row_begin = task.row_begin + row;
    unit.rows.row_count = std::min(step, task.row_count - row);
    unit.rows.row_position = task.row_position + row;
    unit.block = block;
    unit.sums_stride = whole.blocks;
    unit.tops_stride = whole.tiles;
    const int64_t first = int64_t{row} * task.head_count;
    for (int64_t key = 0; key < task.segments[0].count; key += kUnitKeys) {
      unit.rows.key_begin = key;
      unit.rows.key_count = std::min(kUnitKeys, task.segments[0].count - key);
      unit.sums = whole.sums + first * whole.blocks + key / block;
      unit.tops = whole.tops + first * whole.tiles + key / kTileKeys;
      units.push_back(unit);
    }
  }
}

/// Normalises one row's sums to shares of their total. Returns the natural log of the total.
float to_shares(float* sums, const float* tops, int64_t blocks, int64_t per_tile) {
  const int64_t tiles = (blocks + per_tile - 1) / per_tile;
  const float top = *std::max_element(tops, tops + tiles);
  float total = 0.0f;
  for (int64_t t = 0; t < tiles; ++t) {
    const float weight = std::exp2(tops[t] - top);
    for (int64_t b = t * per_tile; b < std::min(blocks, (t + 1) * per_tile); ++b) {
      sums[b] *= weight;
      total += sums[b];
    }
  }
  if (total <= 0.0f) return -std::numeric_limits<float>::infinity();
  for (int64_t b = 0; b < blocks; ++b) sums[b] /= total;
  return top * 0.69314718f + std::log(total);
}

}  // namespace

void block_mass(const AttendCall& asked, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses) {
  constexpr float kNothingSeen = -1e30f;
  LH_ASSERT(tasks.size() == masses.size() && asked.head_dim <= kMostHeadDim);
  if (on_device(kBlockMass, *asked.queue, asked, tasks, block, masses)) return;
  if (!asked.queue->on_host()) {
    HostCopies on(*asked.queue);
    std::vector<View<float>> here;
    for (const View<float>& mass : masses) here.push_back(on(mass));
    return block_mass(on(asked), on(tasks), block, here);
  }
  const HostCall call = host_call(asked, rows_of(tasks), {.lse = true});
  std::vector<std::vector<float>> tops(tasks.size());
  std::vector<Unscaled> wholes;
  std::vector<BlockMassUnit> units;
  for (size_t i = 0; i < tasks.size(); ++i) {
    check(asked, tasks[i], block);
    const int64_t rows = int64_t{tasks[i].row_count} * tasks[i].head_count;
    const int64_t keys = tasks[i].segments[0].count;
    Unscaled whole{&tasks[i], host(masses[i]).data(), nullptr, block_count(keys, block),
                   block_count(keys, kTileKeys)};
    LH_ASSERT(masses[i].size() >= rows * whole.blocks);
    std::fill_n(whole.sums, rows * whole.blocks, 0.0f);
    tops[i].assign(static_cast<size_t>(rows * whole.tiles), kNothingSeen);
    whole.tops = tops[i].data();
    wholes.push_back(whole);
    if (rows > 0 && keys > 0) add_units(call, whole, block, units);
  }
  const BlockMassKernels& kernels = kBlockMassKernels_for(current_isa());
  parallel_for(static_cast<int64_t>(units.size()), [&](int64_t i, int) {
    const BlockMassUnit& unit = units[static_cast<size_t>(i)];
    const int flat = unit.rows.row_count * unit.rows.head_count;
    kernels.run(unit, thread_scratch(kernels.scratch_bytes(call, flat)));
  });
  for (const Unscaled& whole : wholes) {
    const AttendTask& task = *whole.task;
    parallel_ranges(task.row_count, 16, [&](int64_t begin, int64_t end) {
      for (int64_t f = begin * task.head_count; f < end * task.head_count; ++f) {
        const int64_t row = task.row_begin + f / task.head_count;
        float& lse = call.lse[row * call.heads + task.head_begin + f % task.head_count];
        lse = whole.blocks == 0
                  ? -std::numeric_limits<float>::infinity()
                  : to_shares(whole.sums + f * whole.blocks, whole.tops + f * whole.tiles,
                              whole.blocks, kTileKeys / block);
      }
    });
  }
}

}  // namespace longhaul
