#include "attention/methods/xattention/antidiagonal_blocks.h"

#include <algorithm>
#include <cmath>

#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/choose/mass_count.h"
#include "ops/core/host_copies.h"
#include "ops/maps/block_mass.h"

namespace longhaul {
namespace {

/// A range of row groups [first, end). A group has S rows, and groups are numbered from the
/// context's first token.
struct Groups {
  int64_t first = 0, end = 0;
  int64_t count() const { return end - first; }
};

class Choice {
 public:
  Choice(const AttendCall& call, const TileGrid& grid, const AntidiagonalRule& rule,
         std::span<const AntidiagonalHeads> heads, AntidiagonalMemory& memory)
      : call_(call), grid_(grid), rule_(rule), heads_(heads), m_(memory) {
    per_block_ = grid.tile / rule.stride;
    there_ = has(kChooseAntidiagonals, *call.queue);
  }

  /// Selects blocks by the row groups `all`. Returns false if the device does not implement the
  /// operations.
  bool run(const Groups& all) {
    if (!call_.queue->on_host() && !(there_ && lay_out_queries({all.first, all.first}))) {
      return false;
    }
    see_everything();
    for (Groups some = all; some.first < all.end; some.first = some.end) {
      const int64_t row = some.first * rule_.stride;
      const int64_t stop = row / grid_.tile * grid_.tile + kAntidiagonalRows;
      some.end = std::min(all.end, stop / rule_.stride);
      weigh(some);
      if (there_) {
        const GroupMasses masses{grid_, per_block_, some.first, some.end, m_.masses};
        LH_ASSERT(on_device(kChooseAntidiagonals, *call_.queue, masses, heads_));
        continue;
      }
      for (size_t i = 0; i < heads_.size(); ++i) choose(some, heads_[i], m_.masses[i]);
    }
    return true;
  }

 private:
  void see_everything() {
    for (const AntidiagonalHeads& heads : heads_) {
      if (on_device(kSeeAllBlocks, *call_.queue, heads.seen)) continue;
      const auto seen = host(heads.seen);
      std::fill(seen.begin(), seen.end(), uint8_t{1});
    }
  }

  /// Computes masses: for each row group, the softmax of its antidiagonal sums over the key groups
  /// up to its own, summed per block of keys.
  void weigh(const Groups& some) {
    const int width = rule_.stride * call_.head_dim;
    const int64_t rows = some.count(), blocks = block_count(some.end, per_block_);
    lay_out_queries(some);
    const View<const float> queries[] = {m_.queries.view()};
    AttendCall call = call_;
    call.queries = queries;
    call.rounded = m_.rounded.view();
    call.lse = m_.lse.resize(*call.queue, rows * call.heads);
    call.head_dim = width;
    call.scale = static_cast<float>(call_.scale / (rule_.stride * rule_.norm));
    call.cap = 0;  // a cap applies to single logits, but these are sums of S logits
    int64_t numbers = 0;
    for (const AntidiagonalHeads& h : heads_) numbers += rows * h.head_count * blocks;
    View<float> mass = m_.mass.resize(*call.queue, numbers);
    m_.segments.clear();
    m_.segments.reserve(heads_.size());  // tasks contain pointers to its elements
    m_.tasks.clear();
    m_.masses.clear();
    for (const AntidiagonalHeads& h : heads_) {
      KeySegment& keys = m_.segments.emplace_back();
      keys.rows = h.keys;
      keys.rows.page_rows /= rule_.stride;  // S consecutive keys of a page become one key
      keys.rows.head_dim = width;
      keys.count = some.end;
      m_.tasks.push_back(
          {h.head_begin, h.head_count, 0, static_cast<int>(rows), some.first, {&keys, 1}});
      m_.masses.push_back(mass.part(0, rows * h.head_count * blocks));
      mass = mass.from(rows * h.head_count * blocks);
    }
    block_mass(call, m_.tasks, per_block_, m_.masses);
  }

  /// Concatenates the queries of each group in reverse order: vector g of a head consists of rows
  /// first * S + g * S + S - 1, ..., first * S + g * S. On a device the result is bf16.
  bool lay_out_queries(const Groups& some) {
    const int dim = call_.head_dim, heads = call_.heads, stride = rule_.stride;
    const int64_t numbers = some.count() * heads * stride * dim;
    const View<const float> rows =
        call_.queries[0].from((some.first * stride - grid_.begin) * heads * dim);
    if (there_) {
      m_.queries.shrink(0);
      const View<uint8_t> rounded =
          m_.rounded.resize(*call_.queue, static_cast<int64_t>(bytes_of(DType::BF16, numbers)));
      return on_device(kLayOutGroups, *call_.queue, rows, some.count(), stride, heads, dim,
                       rounded);
    }
    m_.rounded.shrink(0);
    float* const laid = host(m_.queries.resize(*call_.queue, numbers)).data();
    const float* const q = host(rows).data();
    parallel_ranges(some.count(), 4, [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) {
        for (int h = 0; h < heads; ++h) {
          float* out = laid + (g * heads + h) * stride * dim;
          for (int r = stride - 1; r >= 0; --r, out += dim) {
            std::copy_n(q + ((g * stride + r) * heads + h) * dim, dim, out);
          }
        }
      }
    });
    return true;
  }

  /// Selects the blocks of every head, for the tiles that contain the groups.
  void choose(const Groups& some, const AntidiagonalHeads& heads, View<const float> masses) {
    const int64_t blocks = block_count(some.end, per_block_);
    const int64_t first_tile = some.first / per_block_, last_tile = (some.end - 1) / per_block_;
    parallel_for(heads.head_count * (last_tile - first_tile + 1), [&](int64_t i, int thread) {
      AntidiagonalMemory::Worker& worker = m_.workers[static_cast<size_t>(thread)];
      const int64_t head = i % heads.head_count, tile = first_tile + i / heads.head_count;
      const int64_t from = std::max(some.first, tile * per_block_),
                    to = std::min(some.end, (tile + 1) * per_block_);
      const View<float> view = worker.scores.resize(*call_.queue, tile + 1);
      const auto scores = host(view);
      std::fill(scores.begin(), scores.end(), 0.0f);
      for (int64_t g = from; g < to; ++g) {
        const float* row =
            host(masses).data() + ((g - some.first) * heads.head_count + head) * blocks;
        for (size_t b = 0; b < scores.size(); ++b) scores[b] += row[b];
      }
      const double share = heads.shares[static_cast<size_t>(head)];
      // With a share of 1, all blocks are selected, although rounding errors may let fewer blocks
      // reach the sum.
      const double wanted = share >= 1 ? INFINITY : share * static_cast<double>(to - from);
      const int64_t at = head * grid_.tiles() + tile - grid_.first_tile();
      mark_best(view, wanted, worker, host(heads.seen.part(at * grid_.blocks(), grid_.blocks())));
    });
  }

  /// Marks the first and the last block, and then the other blocks with the highest scores until
  /// the sum of all marked scores reaches `wanted`.
  void mark_best(View<float> view, double wanted, AntidiagonalMemory::Worker& worker,
                 std::span<uint8_t> seen) {
    const auto scores = host(view);
    const size_t last = scores.size() - 1;
    const double forced = scores[0] + (last > 0 ? scores[last] : 0.0f);
    scores[0] = scores[last] = 0.0f;
    int64_t count = 0;
    if (forced < wanted) {
      const auto sorted = host(worker.sorted.resize(*call_.queue, view.size()));
      std::copy(scores.begin(), scores.end(), sorted.begin());
      count = count_within_mass(sorted, std::nextafter(wanted - forced, 0.0)) + 1;
    }
    const auto others = std::count_if(scores.begin(), scores.end(), [](float s) { return s > 0; });
    RowsToKeep keep;
    keep.first = 1;
    keep.last = last > 0 ? 1 : 0;
    keep.count = std::min<int64_t>(count, others) + keep.first + keep.last;
    const RowList best = select_rows(*call_.queue, view, keep, worker.selection);
    std::fill(seen.begin(), seen.end(), uint8_t{0});
    for (const int32_t block : host_rows(best)) seen[static_cast<size_t>(block)] = 1;
  }

  const AttendCall& call_;
  const TileGrid& grid_;
  const AntidiagonalRule& rule_;
  std::span<const AntidiagonalHeads> heads_;
  AntidiagonalMemory& m_;
  int per_block_ = 0;   ///< number of groups per block
  bool there_ = false;  ///< whether the device selects the blocks
};

}  // namespace

size_t AntidiagonalMemory::bytes_for(const AntidiagonalRule& rule, int tile, int heads,
                                     int head_dim, int64_t rows, int64_t keys) {
  const int64_t at_once = std::min({kAntidiagonalRows, keys, rows});
  const int64_t masses = (at_once / rule.stride + 1) * block_count(keys, tile);
  const int64_t queries = (at_once + rule.stride) * head_dim;
  return static_cast<size_t>(heads * (masses + queries)) * sizeof(float);
}

bool choose_antidiagonal_blocks(const AttendCall& call, const TileGrid& grid,
                                const AntidiagonalRule& rule,
                                std::span<const AntidiagonalHeads> heads,
                                AntidiagonalMemory& memory) {
  LH_ASSERT(call.queries.size() == 1);
  LH_ASSERT(rule.stride > 0 && grid.tile % rule.stride == 0);
  LH_ASSERT(rule.stride * call.head_dim <= kMostGroupElements);
  for (const AntidiagonalHeads& h : heads) {
    LH_ASSERT(static_cast<size_t>(h.head_count) == h.shares.size());
    LH_ASSERT(h.seen.size() == h.head_count * grid.tiles() * grid.blocks());
  }
  const Groups all{(grid.begin + rule.stride - 1) / rule.stride, grid.keys() / rule.stride};
  if (all.first >= all.end) return false;
  memory.workers.resize(std::max(memory.workers.size(), static_cast<size_t>(thread_count())));
  if (Choice(call, grid, rule, heads, memory).run(all)) return true;
  HostCopies on(*call.queue);
  std::vector<AntidiagonalHeads> here(heads.begin(), heads.end());
  for (AntidiagonalHeads& of : here) {
    of.keys = on(of.keys, 0, grid.keys());
    of.seen = on(of.seen);
  }
  return choose_antidiagonal_blocks(on(call), grid, rule, here, memory);
}

}  // namespace longhaul
