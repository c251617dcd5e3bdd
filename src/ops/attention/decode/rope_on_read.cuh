#pragma once
// Rotates keys while the decode kernel reads them (RoPE on read). A rotation by b followed by a
// rotation by o is a rotation by b + o. The dot product of a query and a key at position b + o
// therefore equals the dot product of two other vectors: the query rotated back by b, and the key
// rotated by o. A tile has 16 keys. In every tile, key o (0 to 15) is rotated by o positions. This
// rotation is called step o. The cosines and sines of the 16 steps are in shared memory, in the
// order in which lanes read them. The queries are rotated back by the position b of the tile's
// first key. A tile thus reads one row of the rotation table instead of 16. For heads of 128
// elements, a table row has 512 bytes and a key has 256 bytes. With eight KV heads, the whole table
// is an eighth of the size of the keys and values, and is read from memory once.
//
// This requires that all elements of a head are rotated and that the keys of the tile have
// consecutive positions. In other tiles, keys are rotated one by one in shared memory.

#include "ops/attention/decode/decode_rows.cuh"
#include "ops/attention/decode/decode_tiles.cuh"

namespace longhaul::cuda {

/// The value of TileInfo::rotate for tiles whose queries are rotated back. The value 1 means that
/// the keys are rotated one by one.
inline constexpr int32_t kTurns = 2;

LH_BOTH constexpr bool turns(DecodeForm form) {
  return form == DecodeForm::kTurned || form == DecodeForm::kStoredRopeOnRead;
}

/// Size in bytes of the 16 steps. A step consists of the cosines and sines of D / 2 pairs of
/// elements.
template <int D>
inline constexpr int kStepBytes = kDecodeKeys* D * 4;

/// Returns whether all slots of the tile hold keys that are rotated on read and have consecutive
/// positions.
__device__ __forceinline__ bool turns_whole(const SegmentRecord& s, int32_t slot) {
  return s.rotate != 0 && !s.indexed_positions && slot >= s.shift &&
         slot + kDecodeKeys <= s.shift + s.count;
}

/// Finds the first tile of the unit, over all its parts, for which turns_whole() is true, and sets
/// `position` to that of its first key. Returns false if there is no such tile. The rotation table
/// contains the positions of this tile, because some part of the unit reads them.
__device__ __forceinline__ bool first_turned(const SegmentRecord* segments, const UnitRecord& unit,
                                             int64_t& position) {
  for (int i = 0; i < unit.segment_count; ++i) {
    const SegmentRecord& s = segments[unit.first_segment + i];
    if (s.rotate == 0 || s.indexed_positions) continue;
    const int64_t last = unit.row_position + unit.row_count - 1;
    const SlotRange tiles = visible_tiles(s, unit.row_position, last, kDecodeKeys);
    const int32_t begin = tiles.first * kDecodeKeys;
    const int32_t slot = max(begin, (s.shift + kDecodeKeys - 1) / kDecodeKeys * kDecodeKeys);
    if (slot >= tiles.last * kDecodeKeys || !turns_whole(s, slot)) continue;
    position = position_of(s, slot - s.shift);
    return true;
  }
  return false;
}

/// Writes the cosines and sines of the steps to shared memory. Step o is computed from the rows of
/// the rotation table at `position` and at position + o, as the rotation between them. The steps do
/// not include the table's attention factor. Layout: [D / 16 blocks of 8 pairs][keys lane / 4 and
/// lane / 4 + 8][lane], with two cosines and two sines each.
template <int D, int threads>
__device__ __forceinline__ void write_steps(const RotationTable& table, int64_t position,
                                            uint32_t steps) {
  constexpr int kHalf = D / 2;
  const int64_t row = (position - table.first) * kHalf;
  for (int i = threadIdx.x; i < D / 16 * 64; i += threads) {
    const int lane = i % 32, step = lane / 4 + i / 32 % 2 * 8;
    const int64_t at = row + i / 64 * 8 + lane % 4 * 2;
    const auto two = [&](const float* of, int64_t n) {
      return __ldg(reinterpret_cast<const float2*>(of + n));
    };
    const float2 c = two(table.cosine, at), s = two(table.sine, at);
    const float2 to_c = two(table.cosine, at + step * kHalf);
    const float2 to_s = two(table.sine, at + step * kHalf);
    const float x = 1 / (c.x * c.x + s.x * s.x), y = 1 / (c.y * c.y + s.y * s.y);
    store_16(steps + static_cast<uint32_t>(16 * i),
             {__float_as_uint((to_c.x * c.x + to_s.x * s.x) * x),
              __float_as_uint((to_c.y * c.y + to_s.y * s.y) * y),
              __float_as_uint((to_s.x * c.x - to_c.x * s.x) * x),
              __float_as_uint((to_s.y * c.y - to_c.y * s.y) * y)});
  }
}

/// Shared-memory addresses of the row of the rotation table that belongs to a stage. Groups of four
/// floats begin `pitch` bytes apart.
struct TurnPlace {
  uint32_t cosine, sine, pitch;
};

template <int D>
__device__ __forceinline__ void copy_turn(const RotationTable& table, int64_t position,
                                          const TurnPlace& to) {
  static_assert(D <= 128);  // 16 lanes for cosines and 16 for sines
  const int lane = threadIdx.x % 32, four = lane % 16;
  if (four >= D / 8) return;
  const float* const row =
      (lane < 16 ? table.cosine : table.sine) + (position - table.first) * (D / 2) + 4 * four;
  const uint32_t at = lane < 16 ? to.cosine : to.sine;
  copy_16(at + static_cast<uint32_t>(four) * to.pitch, row, true);
}

/// Stages of bf16 tiles. The tile's row of the rotation table is stored in the padding between the
/// tile's keys.
template <int D>
class DecodeTiles<D, DecodeForm::kTurned> : public DecodeTiles<D, DecodeForm::kPlain> {
  using Plain = DecodeTiles<D, DecodeForm::kPlain>;

 public:
  using Plain::Plain;

  /// Loads a tile. Returns the value for its TileInfo::rotate (0, 1 or kTurns).
  __device__ __forceinline__ int32_t load(const RotationTable& table, const SegmentRecord& s,
                                          int32_t slot, int stage) const {
    const bool whole = turns_whole(s, slot);
    if (whole && !lists_rows(s) && s.key_type == PageType::kBF16 &&
        s.value_type == PageType::kBF16) {
      copy_whole(page_of(s, slot / kPageRows), slot % kPageRows, this->tile(stage));
    } else {
      Plain::load(s, slot, stage);
    }
    if (!whole) return s.rotate;
    copy_turn<D>(table, position_of(s, slot - s.shift), turn(stage));
    return kTurns;
  }
  __device__ __forceinline__ TurnPlace turn(int stage) const {
    const uint32_t first = shared_address(this->tile(stage).keys) + 2 * D;
    return {first, first + D / 8 * kPitch<D>, kPitch<D>};
  }

 private:
  /// Copies 16 consecutive rows of keys and of values. This takes 70 instructions per tile, whereas
  /// load_tile() takes 300.
  __device__ __forceinline__ static void copy_whole(const std::byte* page, int32_t row,
                                                    const DecodeTile<D>& tile) {
    const int lane = threadIdx.x % 32;
    const std::byte* const from = page + row * (2 * D) + 16 * lane;
    const uint32_t keys = shared_address(tile.keys), values = shared_address(tile.values);
#pragma unroll
    for (int i = 0; i < D / 16; ++i) {
      const int c = lane + 32 * i;
      const auto to = static_cast<uint32_t>(c / (D / 8) * kPitch<D> + c % (D / 8) * 16);
      copy_16_once(keys + to, from + 512 * i, true);
      copy_16_once(values + to, from + kPageRows * 2 * D + 512 * i, true);
    }
  }
};

/// Stages of rows as stored. The keys of a stage are followed by 16 unused bytes per row, and so
/// are the values. These bytes hold the tile's row of the rotation table: its cosines after the
/// keys, and its sines after the values.
template <int D>
class DecodeTiles<D, DecodeForm::kStoredRopeOnRead> : public DecodeTiles<D, DecodeForm::kStored> {
  using Stored = DecodeTiles<D, DecodeForm::kStored>;

 public:
  using Stored::Stored;

  __device__ __forceinline__ int32_t load(const RotationTable& table, const SegmentRecord& s,
                                          int32_t slot, int stage) const {
    Stored::load(s, slot, stage);
    if (!turns_whole(s, slot) || lists_rows(s)) return s.rotate;
    copy_turn<D>(table, position_of(s, slot - s.shift), behind(s, stage));
    return kTurns;
  }
  __device__ __forceinline__ TurnPlace turn(int stage) const {
    const auto& h = this->header(stage);
    return {this->keys(stage) + kDecodeKeys * h.keys.pitch,
            this->values(stage) + kDecodeKeys * h.values.pitch, 16};
  }
  __device__ __forceinline__ const DecodeTile<D>& tile(int stage) const {
    return Stored::template tile<false>(stage);
  }
  __device__ __forceinline__ bool mixed(int) const { return false; }

 private:
  /// Returns the same addresses as turn(), computed from the segment instead of the header. It can
  /// therefore be called before the header is written.
  __device__ __forceinline__ TurnPlace behind(const SegmentRecord& s, int stage) const {
    const auto after = [](uint32_t rows, int bytes) {
      return rows + static_cast<uint32_t>(kDecodeKeys * bytes);
    };
    return {after(this->keys(stage), stored_bytes(s.key_type, D)),
            after(this->values(stage), stored_bytes(s.value_type, D)), 16};
  }
};

/// Flat rows whose queries are rotated back for each tile. The queries are kept in f32 and rounded
/// to bf16 after the rotation, so that they are rounded only once.
template <int D>
struct RopeOnReadRows : DecodeRows<D, false> {
  /// Number of blocks of eight elements in half a head. RoPE rotates block j together with block
  /// j + kPairs.
  static constexpr int kPairs = D / 16;
  float2 raw[D / 8];  ///< the two elements that this lane holds in each group of eight

  __device__ __forceinline__ void load_queries(const float* from, const UnitRecord& unit,
                                               int heads) {
    this->queries = from;
    const int f = threadIdx.x % 32 / 4;
    const bool present = f < unit.row_count * unit.head_count;
    const float* const x = this->query_of(from, unit, heads, f) + 2 * (threadIdx.x % 4);
#pragma unroll
    for (int j = 0; j < D / 8; ++j) {
      const auto* const two = reinterpret_cast<const float2*>(x + 8 * j);
      raw[j] = present ? __ldg(two) : make_float2(0, 0);
    }
  }

  __device__ __forceinline__ void keep_queries() {
#pragma unroll
    for (int j = 0; j < D / 8; ++j) this->q[j / 2][j % 2] = bf16_pair(raw[j].x, raw[j].y);
  }

  __device__ __forceinline__ void turn_queries(const TurnPlace& by) {
    const int lane = threadIdx.x % 32;
    const uint32_t own = lane % 4 / 2 * by.pitch + lane % 2 * 8;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const float2 c = load_two(by.cosine + own + 2 * j * by.pitch);
      const float2 s = load_two(by.sine + own + 2 * j * by.pitch);
      const float2 a = raw[j], b = raw[j + kPairs];
      this->q[j / 2][j % 2] = bf16_pair(a.x * c.x + b.x * s.x, a.y * c.y + b.y * s.y);
      const int pair = j + kPairs;
      this->q[pair / 2][pair % 2] = bf16_pair(b.x * c.x - a.x * s.x, b.y * c.y - a.y * s.y);
    }
  }

  /// Like multiply_keys(), but the keys are rotated by the steps after they are loaded from shared
  /// memory.
  __device__ __forceinline__ void multiply_turned(uint32_t keys, uint32_t steps,
                                                  float (&c)[4]) const {
    const int lane = threadIdx.x % 32;
    const uint32_t key = keys + lane % 16 * kPitch<D> + lane / 16 * 16;
    uint32_t a[D / 16][4];
#pragma unroll
    for (int k = 0; k < D / 16; ++k) load_matrices(a[k], key + 32 * k);
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const uint4 step = load_16(steps + 512 * (2 * j + h) + 16 * lane);
        const int pair = j + kPairs;
        rotate_pair(a[j / 2][j % 2 * 2 + h], a[pair / 2][pair % 2 * 2 + h],
                    {__uint_as_float(step.x), __uint_as_float(step.y)},
                    {__uint_as_float(step.z), __uint_as_float(step.w)});
      }
    }
    float odd[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] = 0;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      multiply(k % 2 == 0 ? c : odd, a[k], this->q[k][0], this->q[k][1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] += odd[i];
  }

 private:
  __device__ __forceinline__ static float2 load_two(uint32_t from) {
    float2 x;
    asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(from) : "memory");
    return x;
  }
};

}  // namespace longhaul::cuda
