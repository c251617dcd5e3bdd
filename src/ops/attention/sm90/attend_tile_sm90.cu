// Prefill attention on Hopper for stretches of bf16 pages.

#include "ops/attention/sm90/sm90_attend.cuh"

namespace longhaul::cuda {
namespace {

struct StretchNote {
  const float* queries;
  int32_t begin, end;  ///< slots with keys
  int32_t offset;      ///< key n has offset `offset` + n from the unit's first row
  int32_t nearest, furthest;
  int32_t last;
};

/// A stretch of consecutive rows. A row sees the keys at distances in a range.
template <int D>
class SeenStretch {
 public:
  using F = Sm90Form<D>;
  using Note = StretchNote;
  using Own = StretchNote;
  struct Values {
    int32_t begin, end;
  };

  __device__ __forceinline__ static NextTile<Note, F::kPages> next(TileWalk& walk,
                                                                   const UnitRecord& unit,
                                                                   const PageMap& pages) {
    NextTile<Note, F::kPages> next{};
    if (!walk.next()) return next;
    const SegmentRecord& s = walk.segment();
    const int last = (s.shift + s.count - 1) / kPageRows;
#pragma unroll
    for (int p = 0; p < F::kPages; ++p) {
      next.page[p] = page_number(pages, page_of(s, min(F::kPages * walk.tile() + p, last)));
    }
    const int32_t begin = s.shift - walk.tile() * F::kPages * kPageRows;
    next.there = true;
    next.note = {s.queries,
                 begin,
                 begin + s.count,
                 static_cast<int32_t>(s.position - begin - unit.row_position),
                 s.nearest,
                 s.furthest,
                 0};
    return next;
  }

  __device__ __forceinline__ SeenStretch(const UnitRecord& unit, int group)
      : unit_(unit),
        group_(group),
        first_row_(64 * group / unit.head_count),
        last_row_((64 * group + 63) / unit.head_count) {}

  __device__ __forceinline__ Own own(const Note& note) const { return note; }
  __device__ __forceinline__ Values values(const Own& note) const { return {note.begin, note.end}; }

  __device__ __forceinline__ void mask(float (&s)[F::kKeys / 2], const Own& note, int flat) const {
    const int32_t begin = note.begin, end = note.end, near = note.nearest, far = note.furthest;
    const int32_t offset = note.offset;
    if (begin <= 0 && end >= F::kKeys && first_row_ - (offset + F::kKeys - 1) >= near &&
        last_row_ - offset < far) {
      return;
    }
    const int row[2] = {flat / unit_.head_count, (flat + 8) / unit_.head_count};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      // Visible keys satisfy near <= row - offset - n < far.
      const int32_t distance = row[h] - offset;
      const int32_t first = max(begin, distance - far + 1), last = min(end - 1, distance - near);
#pragma unroll
      for (int i = 0; i < F::kKeys / 4; ++i) {
        const int n = 8 * (i / 2) + 2 * (threadIdx.x % 4) + i % 2;
        if (n < first || n > last) s[4 * (i / 2) + 2 * h + i % 2] = -INFINITY;
      }
    }
  }

  __device__ __forceinline__ void clear(uint32_t values, const Values& of) const {
    if (of.begin <= 0 && of.end >= F::kKeys) return;
    const int n = threadIdx.x % 128;
    clear_value<D>(values, n, n < F::kKeys && (n < of.begin || n >= of.end), group_);
  }

 private:
  const UnitRecord& unit_;
  int group_;
  int first_row_, last_row_;  ///< the warpgroup's rows, relative to the unit's first row
};

}  // namespace

void launch_attend_tile_sm90(CUstream_st* stream, const AttendArgs& args, const PageMap& pages,
                             const UnitRecord* units, int count, int head_dim) {
  const auto launch = head_dim <= 64    ? launch_sm90<64, SeenStretch<64>>
                      : head_dim <= 128 ? launch_sm90<128, SeenStretch<128>>
                                        : launch_sm90<256, SeenStretch<256>>;
  launch(stream, args, pages, units, count);
}

}  // namespace longhaul::cuda
