#include "ops/maps/top_keys.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/host_copies.h"
#include "ops/core/thread_scratch.h"
#include "ops/maps/top_keys_kernels.h"

namespace longhaul {
namespace {

// fewest keys of a unit that shares its rows with others
constexpr int64_t kLeastKeys = 8 * kTopTile;

void check(const TopKeysCall& call, std::span<const TopKeysTask> tasks) {
  LH_ASSERT(call.head_dim > 0 && call.head_dim <= 1024);
  LH_ASSERT(call.k >= 1 && call.k <= kMostTopKeys);
  for (const TopKeysTask& task : tasks) {
    const PagedRows& keys = task.keys;
    LH_ASSERT(task.head_begin >= 0 && task.head_begin + task.head_count <= call.heads);
    LH_ASSERT(task.begin >= 0 && task.count >= 0 &&
              task.count <= std::numeric_limits<int32_t>::max());
    LH_ASSERT(keys.head_dim == call.head_dim && keys.page_rows > 0 &&
              (keys.page_rows & (keys.page_rows - 1)) == 0);
    LH_ASSERT(keys.type.holds(call.head_dim));
    if (task.row_count == 0) continue;
    const int64_t vectors = int64_t{task.row_begin + task.row_count} * call.heads;
    LH_ASSERT(call.queries.size() >= vectors * call.head_dim);
    LH_ASSERT(call.keys.size() >= vectors * call.k);
    LH_ASSERT(call.scores.empty() || call.scores.size() >= vectors * call.k);
  }
}

bool has_decode_rows(const TopKeysTask& task) {
  return task.row_count == 1 || task.row_count * task.head_count <= kDecodeRows;
}

/// Some rows of a task against all of its keys, in `parts` units of consecutive keys.
struct Block {
  TopKeysUnit unit;
  bool decode = false;
  int64_t parts = 1;
  size_t first_unit = 0;

  int flat_rows() const { return unit.rows.row_count * unit.rows.head_count; }
};

/// Memory of a call, reused from call to call.
struct Search {
  std::vector<KeySegment> segments;
  std::vector<Block> blocks;
  std::vector<TopKeysUnit> units;
  Buffer<float> scores;
  Buffer<int32_t> keys;
};

/// Divides the rows of all tasks so that a unit's rows share its packed (or streamed) keys.
void cut_rows(const HostCall& attend, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
              std::span<const KeySegment> segments, std::vector<Block>& blocks) {
  blocks.clear();
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TopKeysTask& task = tasks[i];
    const bool decode = has_decode_rows(task);
    const int heads = std::min(task.head_count, decode ? kDecodeRows : kUnitRows);
    const int rows = decode ? task.row_count : std::max(1, kUnitRows / std::max(1, heads));
    for (int h = 0; h < task.head_count; h += heads) {
      for (int r = 0; r < task.row_count; r += rows) {
        Block block;
        block.decode = decode;
        block.unit.k = call.k;
        block.unit.rule = call.rule;
        AttendUnit& unit = block.unit.rows;
        unit.call = &attend;
        unit.segments = &segments[i];
        unit.segment_count = 1;
        unit.head_begin = task.head_begin + h;
        unit.head_count = std::min(heads, task.head_count - h);
        unit.row_begin = task.row_begin + r;
        unit.row_count = std::min(rows, task.row_count - r);
        unit.key_count = task.count;
        blocks.push_back(block);
      }
    }
  }
}

/// Divides the keys into units of whole tiles, enough for every thread.
void cut_keys(std::vector<Block>& blocks, std::vector<TopKeysUnit>& units) {
  int64_t work = 0;  // rows times keys
  for (const Block& b : blocks) work += (b.decode ? 1 : b.flat_rows()) * b.unit.rows.key_count;
  const int64_t threads = thread_count();
  units.clear();
  for (Block& b : blocks) {
    const int64_t keys = b.unit.rows.key_count, tiles = (keys + kTopTile - 1) / kTopTile;
    const int64_t share =
        std::max<int64_t>(1, work / (4 * threads) / (b.decode ? 1 : b.flat_rows()));
    b.parts = threads == 1 ? 1 : std::max<int64_t>(1, keys / std::max(share, kLeastKeys));
    b.first_unit = units.size();
    for (int64_t p = 0; p < b.parts; ++p) {
      TopKeysUnit unit = b.unit;
      unit.rows.key_begin = tiles * p / b.parts * kTopTile;
      unit.rows.key_count =
          std::min(tiles * (p + 1) / b.parts * kTopTile, keys) - unit.rows.key_begin;
      units.push_back(unit);
    }
  }
}

void assign_lists(std::vector<TopKeysUnit>& units, Buffer<float>& scores, Buffer<int32_t>& keys) {
  const auto size = [](const TopKeysUnit& u) {
    return static_cast<size_t>(u.rows.row_count * u.rows.head_count * u.k);
  };
  size_t total = 0;
  for (const TopKeysUnit& unit : units) total += size(unit);
  scores.resize(total);
  keys.resize(total);
  size_t at = 0;
  for (TopKeysUnit& unit : units) {
    unit.scores = scores.data() + at;
    unit.keys = keys.data() + at;
    at += size(unit);
  }
}

/// Merges the lists of one row from consecutive parts of the keys. Parts are added in ascending
/// order, so a later key with an equal score loses.
struct MergedList {
  int k;
  float scores[kMostTopKeys];
  int32_t keys[kMostTopKeys];

  explicit MergedList(int length) : k(length) {
    std::fill_n(scores, k, kNoScore);
    std::fill_n(keys, k, -1);
  }

  void add(const float* part_scores, const int32_t* part_keys) {
    for (int i = 0; i < k && part_scores[i] > scores[k - 1]; ++i) {
      int at = k - 1;
      for (; at > 0 && part_scores[i] > scores[at - 1]; --at) {
        scores[at] = scores[at - 1];
        keys[at] = keys[at - 1];
      }
      scores[at] = part_scores[i];
      keys[at] = part_keys[i];
    }
  }
};

void write_lists(const TopKeysCall& call, const Block& block, std::span<const TopKeysUnit> units) {
  int32_t* const keys = host(call.keys).data();
  float* const scores = host(call.scores).data();
  const AttendUnit& rows = block.unit.rows;
  for (int f = 0; f < block.flat_rows(); ++f) {
    MergedList list(call.k);
    for (const TopKeysUnit& part : units) {
      list.add(part.scores + f * call.k, part.keys + f * call.k);
    }
    const int64_t row = rows.row_begin + f / rows.head_count;
    const int64_t at = (row * call.heads + rows.head_begin + f % rows.head_count) * call.k;
    std::copy_n(list.keys, call.k, keys + at);
    if (scores != nullptr) std::copy_n(list.scores, call.k, scores + at);
  }
}

}  // namespace

void top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks) {
  check(call, tasks);
  if (on_device(kTopKeys, *call.queue, call, tasks)) return;
  if (!call.queue->on_host()) {
    HostCopies on(*call.queue);
    std::vector<TopKeysTask> here(tasks.begin(), tasks.end());
    for (TopKeysTask& task : here) task.keys = on(task.keys, task.begin, task.begin + task.count);
    TopKeysCall plain = call;
    plain.queue = &host_queue();
    plain.queries = on(call.queries);
    plain.keys = on(call.keys);
    plain.scores = on(call.scores);
    return top_keys(plain, here);
  }
  HostCall attend;
  attend.queries = {{host(call.queries).data()}, 1};
  attend.heads = call.heads;
  attend.head_dim = call.head_dim;
  attend.scale = 1.0f;
  attend.compute = call.compute;
  thread_local Search search_of_thread;
  Search& search = search_of_thread;  // shared by the pool's threads
  auto& [segments, blocks, units, scores, keys] = search;
  segments.assign(tasks.size(), {});
  for (size_t i = 0; i < tasks.size(); ++i) {
    segments[i].rows = tasks[i].keys;
    segments[i].begin = tasks[i].begin;
    segments[i].count = tasks[i].count;
    segments[i].visible = Visibility::kAll;
  }
  cut_rows(attend, call, tasks, segments, blocks);
  cut_keys(blocks, units);
  assign_lists(units, scores, keys);

  const TopKeysKernels& kernels = kTopKeysKernels_for(current_isa());
  parallel_for(static_cast<int64_t>(units.size()), [&](int64_t i, int) {
    const TopKeysUnit& unit = search.units[static_cast<size_t>(i)];
    const int flat = unit.rows.row_count * unit.rows.head_count;
    if (flat <= kDecodeRows) {
      kernels.decode(unit, thread_scratch(kernels.decode_scratch_bytes(attend)));
    } else {
      kernels.tile(unit, thread_scratch(kernels.tile_scratch_bytes(attend, flat)));
    }
  });
  for (const Block& block : blocks) {
    write_lists(call, block,
                std::span(units).subspan(block.first_unit, static_cast<size_t>(block.parts)));
  }
}

}  // namespace longhaul
