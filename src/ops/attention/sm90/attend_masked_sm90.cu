// Attention on Hopper for tiles of 64 rows that see masked rows in a list of pages (PageMasks of
// ops/attention/attention.h). Each of the two warpgroups has a tile. They read the pages that
// either tile sees.

#include "ops/attention/sm90/sm90_attend.cuh"

namespace longhaul::cuda {
namespace {

struct MaskNote {
  const float* queries;
  uint64_t seen[2][2];  ///< [warpgroup][page]
  int32_t offset[2];    ///< offsets of the pages' first keys from the unit's first row
  int32_t last;
};

/// The keys of a page that the warpgroup's tile sees, and the offset that decides which rows stand
/// before them.
struct SeenPage {
  uint64_t seen;
  int32_t offset;
};

template <int D>
class SeenByMask {
 public:
  static_assert(Sm90Form<D>::kPages == 2);
  using Note = MaskNote;
  struct Own {
    const float* queries;
    SeenPage page[2];
    int32_t last;
  };
  struct Values {
    int32_t offset[2];
  };

  __device__ __forceinline__ static NextTile<Note, 2> next(TileWalk& walk, const UnitRecord& unit,
                                                           const PageMap& pages) {
    NextTile<Note, 2> next{};
    if (!walk.next()) return next;
    const SegmentRecord& s = walk.segment();
    const int last = s.count / kPageRows - 1;
    next.there = true;
    next.note.queries = s.queries;
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const int at = min(2 * walk.tile() + p, last);
      next.page[p] = page_number(pages, page_of(s, at));
      next.note.offset[p] = masked_offset(s, at, unit.row_position);
      if (2 * walk.tile() + p > last) continue;  // the walk already covered that page
#pragma unroll
      for (int g = 0; g < 2; ++g) next.note.seen[g][p] = mask_of(s, at, g);
    }
    return next;
  }

  __device__ __forceinline__ SeenByMask(const UnitRecord& unit, int group)
      : unit_(unit), group_(group) {}

  __device__ __forceinline__ Own own(const Note& of) const {
    return {of.queries,
            {{of.seen[group_][0], of.offset[0]}, {of.seen[group_][1], of.offset[1]}},
            of.last};
  }
  __device__ __forceinline__ Values values(const Own& note) const {
    return {{note.page[0].offset, note.page[1].offset}};
  }

  __device__ __forceinline__ void mask(float* s, const Own& note, int flat) const {
    mask_page(s, note.page[0], flat);
    mask_page(s + kPageRows / 2, note.page[1], flat);
  }

  /// Clears keys after the unit's last row.
  __device__ __forceinline__ void clear(uint32_t values, const Values& of) const {
    if (max(of.offset[0], of.offset[1]) + kPageRows <= unit_.row_count) return;
    const int n = threadIdx.x % 128;
    const int32_t stands = (n < kPageRows ? of.offset[0] : of.offset[1]) + n % kPageRows;
    clear_value<D>(values, n, stands >= unit_.row_count, group_);
  }

 private:
  __device__ __forceinline__ void mask_page(float* s, const SeenPage& page, int flat) const {
    const bool causal = page.offset + kPageRows - 1 > 64 * group_;
    if (!causal && page.seen == ~uint64_t{0}) return;
    const uint64_t seen = page.seen >> threadIdx.x % 4 * 2;
    const uint32_t half[2] = {static_cast<uint32_t>(seen), static_cast<uint32_t>(seen >> 32)};
#pragma unroll
    for (int i = 0; i < kPageRows / 4; ++i) {
      const int n = 8 * (i / 2) + i % 2;
      if ((half[n / 32] >> n % 32 & 1) == 0) {
        s[4 * (i / 2) + i % 2] = -INFINITY;
        s[4 * (i / 2) + i % 2 + 2] = -INFINITY;
      }
    }
    if (!causal) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int32_t last = flat + 8 * h - page.offset - static_cast<int32_t>(threadIdx.x) % 4 * 2;
#pragma unroll
      for (int i = 0; i < kPageRows / 4; ++i) {
        if (8 * (i / 2) + i % 2 > last) s[4 * (i / 2) + 2 * h + i % 2] = -INFINITY;
      }
    }
  }

  const UnitRecord& unit_;
  int group_;
};

}  // namespace

void launch_attend_masked_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                               const UnitRecord* units, int count, int head_dim) {
  const auto launch =
      head_dim <= 64 ? launch_sm90<64, SeenByMask<64>> : launch_sm90<128, SeenByMask<128>>;
  launch(stream, args, pages, units, count);
}

}  // namespace longhaul::cuda
