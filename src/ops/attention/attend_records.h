#pragma once
// Records of an attention plan in device memory, and the iteration over the key tiles of a unit. A
// unit is the set of query rows, heads and keys that one thread block computes. A flat row is the
// query of one head of one query row. The code is plain C++, so that tests can process a plan on
// the host with the functions that the kernels call.

#include <cstddef>
#include <cstdint>

#include "ops/attention/stored_row.h"

#ifdef __CUDACC__
#define LH_BOTH __host__ __device__ __forceinline__
#else
#define LH_BOTH inline
#endif

namespace longhaul::cuda {

inline constexpr int kPageRows = 64;       ///< keys per page; the page's values follow its keys
inline constexpr int kTileUnitRows = 128;  ///< flat rows per unit of the prefill kernels
inline constexpr int kWideUnitRows = 64;   ///< flat rows per unit of the kernel for wide heads
inline constexpr int kDecodeUnitRows = 8;  ///< flat rows per unit of the decode kernel
/// The part of a unit that finishes last may merge the parts only if the number of parts times the
/// number of flat rows of the unit is at most this number.
inline constexpr int kMostMerged = 512;
inline constexpr int kTileKeys = 64;           ///< keys per tile by which the plan counts the work
                                               ///< of prefill units
inline constexpr int kDecodeKeys = 16;         ///< keys per tile of the decode kernel
inline constexpr int32_t kFar = 1 << 30;       ///< larger than the distance of any two positions
inline constexpr int32_t kNoKey = 0x7fffffff;  ///< marks a slot of a tile that holds no key

/// The device form of a KeySegment. The keys are either a stretch (consecutive rows) or listed (by
/// an index of rows or of pages). Tiles consist of slots. Key i is in slot shift + i. In a stretch,
/// `shift` is chosen so that slots 64 * p to 64 * p + 63 are page p. For listed keys it is 0.
struct SegmentRecord {
  /// Device array of page addresses. For a stretch, its first entry is the page that contains the
  /// first key.
  const std::byte* const* pages;
  const int32_t* index;  ///< numbers of the listed rows or pages; null for a stretch
  const float* queries;  ///< the query array that is multiplied by these keys
  /// Key i has position `position` + index[i] if indexed_positions is set, and otherwise
  /// `position` + i.
  int64_t position;
  int32_t shift;    ///< slot of key 0, below 64
  int32_t count;    ///< number of keys
  int32_t nearest;  ///< a query row at position r sees a key at position k if nearest <= r - k <
                    ///< furthest
  int32_t furthest;
  PageType key_type;
  uint8_t indexed_positions;
  uint8_t rotate;
  uint8_t whole_pages;  ///< whether `index` holds page numbers
  PageType value_type;
  uint8_t unused[3];
  const uint64_t* masks;  ///< [listed pages][2 tiles of query rows] masks, see mask_of(); null: no
                          ///< masks
};
static_assert(sizeof(SegmentRecord) == 64);

/// A segment that is completed on the device, and the query rows that see the segment. The host
/// does not have the number of the segment's keys, or the number of keys after the segment.
struct CountRecord {
  /// Device address of the segment's number of keys; null: SegmentRecord::count is valid.
  const int32_t* device_count;
  /// Device address of the number of keys after the segment, which is subtracted from the segment's
  /// position; null: nothing is subtracted.
  const int32_t* count_after;
  /// Device address of the number of visible (row, key) pairs, if an earlier operation has counted
  /// them (PageMasks::pairs); otherwise null.
  const int64_t* pairs;
  int64_t row_position;
  int32_t segment;
  int32_t row_count, head_count;
  int32_t unused;
};
static_assert(sizeof(CountRecord) == 48);

/// The rows and heads of a unit, and the part of its key tiles that one thread block computes. Flat
/// row f is the query of row row_begin + f / head_count and head head_begin + f % head_count.
struct UnitRecord {
  int32_t first_segment, segment_count;
  int32_t row_begin, row_count;
  int32_t head_begin, head_count;
  /// This part computes tiles [n * part / parts, n * (part + 1) / parts) of the unit's n tiles.
  int32_t part, parts;
  int64_t row_position;  ///< position of row `row_begin`
  /// Offset in floats of this part's partial results in AttendArgs::partial. Negative if the unit
  /// has one part and writes `out` directly.
  int64_t partial;
  /// Index in AttendArgs::counters of the number of finished parts. The part that finishes last
  /// merges all parts. Negative if no part of the unit merges.
  int32_t counter;
  /// First thread block of the unit. Only the decode kernel uses this field, because one of its
  /// records represents all parts of a unit.
  int32_t first_block;
};
static_assert(sizeof(UnitRecord) == 56);

/// Describes a merge of the partial results of a unit's parts, in the order of the parts. The
/// partial result of F flat rows consists of [F, head_dim] sums of weighted values, [F] reference
/// logits in base 2, and [F] denominators. The weight of a key is 2^(logit - reference logit), and
/// a denominator is the sum of the weights. The reference logit is the largest logit of the flat
/// row in this part, or at most 8 less (kLogitSlack in decode/decode_rows.cuh).
struct MergeRecord {
  int64_t partial;
  int32_t parts;
  int32_t row_begin, row_count;
  int32_t head_begin, head_count;
  int32_t unused;
};
static_assert(sizeof(MergeRecord) == 32);

/// Returns the number of floats in the partial results of a part.
LH_BOTH int64_t part_floats(int flat_rows, int head_dim) {
  // The number is rounded up, so that each part begins at a multiple of 16 bytes.
  return (static_cast<int64_t>(flat_rows) * (head_dim + 2) + 3) / 4 * 4;
}

/// Returns the index of the record that thread block `block` processes. Each record is processed by
/// consecutive thread blocks, and records[i].first_block is the first of them. The result is the
/// last record whose first_block is at most `block`.
template <class Record>
LH_BOTH int number_of_block(const Record* records, int count, int block) {
  int low = 0, high = count - 1;
  // Fast path: most calls have equally many thread blocks per record. Each step of the search below
  // costs a load.
  const int each = count > 1 ? records[1].first_block : 1;
  const int guess = each > 0 && block / each < count ? block / each : count - 1;
  if (records[guess].first_block == guess * each) {
    low = guess;
    if (guess == count - 1 || records[guess + 1].first_block > block) return guess;
  }
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (records[middle].first_block <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Returns the record of the part that thread block `block` of the decode kernel computes. The
/// parts of a unit have consecutive thread blocks and consecutive partial results.
LH_BOTH UnitRecord part_of_block(const UnitRecord* units, int count, int block, int head_dim) {
  UnitRecord unit = units[number_of_block(units, count, block)];
  unit.part = block - unit.first_block;
  if (unit.partial >= 0) {
    unit.partial += unit.part * part_floats(unit.row_count * unit.head_count, head_dim);
  }
  return unit;
}

/// Returns whether the segment's index lists single rows.
LH_BOTH bool lists_rows(const SegmentRecord& s) { return s.index != nullptr && !s.whole_pages; }

/// Returns the address of the segment's page with slots [64 * page, 64 * page + 64).
LH_BOTH const std::byte* page_of(const SegmentRecord& s, int32_t page) {
  return s.pages[s.whole_pages ? s.index[page] : page];
}

/// Returns the mask of page `page` of a segment with masks, for the query rows in tile `tile` (0 or
/// 1) of a unit. A query row sees key r of the page if bit r is set and the key's position is at
/// most the row's.
LH_BOTH uint64_t mask_of(const SegmentRecord& s, int32_t page, int tile) {
  return s.masks[2 * page + tile];
}

/// Returns the distance from the position of the unit's first row to that of the first key of page
/// `page`, for a segment with masks. If the segment has no positions, the result places the page so
/// far back that all rows see all of it.
LH_BOTH int32_t masked_offset(const SegmentRecord& s, int32_t page, int64_t row_position) {
  if (!s.indexed_positions) return -kPageRows;
  return static_cast<int32_t>(s.position + int64_t{kPageRows} * s.index[page] - row_position);
}

LH_BOTH int64_t position_of(const SegmentRecord& s, int32_t key) {
  return s.position + (s.indexed_positions ? s.index[key] : key);
}

/// Returns how many keys of the segment have positions before `position`.
LH_BOTH int32_t keys_before(const SegmentRecord& s, int64_t position) {
  if (!s.indexed_positions) {
    const int64_t n = position - s.position;
    return n < 0 ? 0 : n > s.count ? s.count : static_cast<int32_t>(n);
  }
  // Fast path: most lists of keys are entirely before or entirely after the position.
  if (s.count == 0 || s.position + s.index[0] >= position) return 0;
  if (s.position + s.index[s.count - 1] < position) return s.count;
  int32_t low = 1, high = s.count - 1;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (s.position + s.index[middle] < position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The slots, or the tiles, from `first` to `last` - 1.
struct SlotRange {
  int32_t first, last;
  LH_BOTH int32_t size() const { return last > first ? last - first : 0; }
};

/// Returns the slots of all keys that at least one query row at positions [first, last] sees. These
/// slots are always contiguous.
LH_BOTH SlotRange visible_slots(const SegmentRecord& s, int64_t first, int64_t last) {
  const int32_t end = s.nearest <= -kFar ? s.count : keys_before(s, last - s.nearest + 1);
  const int32_t begin = s.furthest >= kFar ? 0 : keys_before(s, first - s.furthest + 1);
  return {s.shift + begin, s.shift + (end > begin ? end : begin)};
}

/// Returns the tiles of `keys` slots each that contain at least one visible slot.
LH_BOTH SlotRange visible_tiles(const SegmentRecord& s, int64_t first, int64_t last, int keys) {
  const SlotRange slots = visible_slots(s, first, last);
  if (slots.size() == 0) return {0, 0};
  return {slots.first / keys, (slots.last + keys - 1) / keys};
}

/// Sets the number of keys and the position of the segment from the numbers to which `count`
/// points. Returns the number of visible (row, head, key) triples of the segment, or 0 if the host
/// already had the number of keys.
LH_BOTH int64_t resolve_count(const CountRecord& count, SegmentRecord& s) {
  if (count.count_after != nullptr) s.position -= *count.count_after;
  if (count.device_count == nullptr) return 0;
  s.count = *count.device_count;
  if (s.masks != nullptr) return count.pairs == nullptr ? 0 : *count.pairs;
  if (s.nearest <= -kFar && s.furthest >= kFar) {
    return static_cast<int64_t>(s.count) * count.row_count * count.head_count;
  }
  int64_t keys = 0;
  for (int32_t r = 0; r < count.row_count; ++r) {
    keys += visible_slots(s, count.row_position + r, count.row_position + r).size();
  }
  return keys * count.head_count;
}

/// Iterates over the key tiles of one part of a unit, segment by segment.
class TileWalk {
 public:
  LH_BOTH TileWalk(const SegmentRecord* segments, const UnitRecord& unit, int keys)
      : segments_(segments + unit.first_segment),
        segments_left_(unit.segment_count),
        keys_(keys),
        first_position_(unit.row_position),
        last_position_(unit.row_position + unit.row_count - 1) {
    if (unit.parts == 1) return;
    int64_t tiles = 0;
    for (int i = 0; i < unit.segment_count; ++i) tiles += range(segments_[i]).size();
    const int64_t begin = tiles * unit.part / unit.parts;
    skip(begin);
    tiles_left_ = tiles * (unit.part + 1) / unit.parts - begin;
  }

  /// Advances to the next tile. The first call advances to the first tile. Returns false after the
  /// last tile.
  LH_BOTH bool next() {
    if (tiles_left_ == 0 || !enter()) return false;
    if (tiles_left_ > 0) --tiles_left_;
    at_ = tile_++;
    return true;
  }

  /// Skips the next `tiles` tiles. If fewer are left, all of them are skipped.
  LH_BOTH void skip(int64_t tiles) {
    if (tiles_left_ >= 0) {
      tiles = tiles < tiles_left_ ? tiles : tiles_left_;
      tiles_left_ -= tiles;
    }
    while (tiles > 0 && enter()) {
      const int64_t step = tiles < last_ - tile_ ? tiles : last_ - tile_;
      tile_ += static_cast<int32_t>(step);
      tiles -= step;
    }
  }

  LH_BOTH const SegmentRecord& segment() const { return *(segments_ - 1); }
  LH_BOTH int32_t tile() const { return at_; }

 private:
  LH_BOTH SlotRange range(const SegmentRecord& s) const {
    return visible_tiles(s, first_position_, last_position_, keys_);
  }
  /// Advances to the next segment that has tiles, unless the current segment has a tile left.
  /// Returns false if there is no further segment.
  LH_BOTH bool enter() {
    while (tile_ >= last_) {
      if (segments_left_ == 0) return false;
      --segments_left_;
      const SlotRange tiles = range(*segments_++);
      tile_ = tiles.first;
      last_ = tiles.last;
    }
    return true;
  }

  const SegmentRecord* segments_;
  int segments_left_;
  int keys_;
  int64_t first_position_, last_position_;
  int64_t tiles_left_ = -1;  ///< number of tiles left in this part; negative if the unit has only
                             ///< one part, which ends with the last segment
  int32_t tile_ = 0, last_ = 0, at_ = 0;
};

/// Returns the position of the key in slot `slot` relative to the position of the unit's first row.
/// Returns kNoKey if the slot holds no key. Row r of the unit sees the key if sees(nearest,
/// furthest, r, offset) is true for the returned offset.
LH_BOTH int32_t key_offset(const SegmentRecord& s, int32_t slot, int64_t row_position) {
  const int32_t key = slot - s.shift;
  if (key < 0 || key >= s.count) return kNoKey;
  return static_cast<int32_t>(position_of(s, key) - row_position);
}

LH_BOTH bool sees(int32_t nearest, int32_t furthest, int32_t row, int32_t offset) {
  if (offset == kNoKey) return false;
  const int32_t distance = row - offset;
  return distance >= nearest && distance < furthest;
}

}  // namespace longhaul::cuda
