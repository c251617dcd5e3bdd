#pragma once
// Loads tiles of keys and values as bf16 into shared memory and rotates the keys there. Pages may
// have any type. The keys of a segment are consecutive rows (a stretch), a list of rows, or a list
// of pages. In shared memory, rows have 16 bytes of padding, so that the eight rows of a matrix
// fragment are in different banks.

#include "ops/attention/attend_kernels.gpu.h"
#include "ops/core/gpu/mma.cuh"

namespace longhaul::cuda {

template <int D>
inline constexpr int kPitch = 2 * D + 16;  ///< bytes between the beginnings of two rows in shared
                                           ///< memory

/// Information about a tile for the warps that multiply its keys and values. It is in shared memory
/// next to the tile.
struct TileInfo {
  const SegmentRecord* segment;  ///< null after the last tile
  const float* queries;
  int32_t slot;  ///< first slot of the tile in its segment
  int32_t nearest, furthest;
  int32_t rotate;
};

/// Advances the walk to the next tile, which has N slots, and returns the tile's TileInfo. One
/// thread calls this function.
template <int N>
__device__ __forceinline__ TileInfo next_tile(TileWalk& walk) {
  if (!walk.next()) return {};
  const SegmentRecord& s = walk.segment();
  return {&s, s.queries, walk.tile() * N, s.nearest, s.furthest, s.rotate};
}

__device__ __forceinline__ uint4 bf16_of(const Eight& e) {
  return {bf16_pair(e.x[0], e.x[1]), bf16_pair(e.x[2], e.x[3]), bf16_pair(e.x[4], e.x[5]),
          bf16_pair(e.x[6], e.x[7])};
}

/// Stores elements [8 * chunk, 8 * chunk + 8) of a stored row in shared memory as bf16. Stores
/// zeros if `present` is false. If the row is stored in bf16, the copy is asynchronous and belongs
/// to the thread's next group of copies.
__device__ __forceinline__ void copy_eight(uint32_t to, const std::byte* row, PageType type,
                                           int chunk, bool present) {
  if (type == PageType::kBF16) {
    copy_16(to, row + (present ? chunk * 16 : 0), present);
  } else {
    store_16(to, present ? bf16_of(load_eight(RowBytes{row}, type, chunk)) : uint4{0, 0, 0, 0});
  }
}

/// Loads the keys and values of slots [slot, slot + N). All `threads` threads must call the
/// function, each with its index `thread`. N divides 64, and slot is a multiple of N. Slots without
/// a key become zeros. Rows stored in bf16 are copied asynchronously, and the copies belong to the
/// thread's next group of copies. If kOnce is true, the copies use copy_16_once(), so that the L2
/// cache evicts the rows first.
template <int D, int N, int threads, bool kOnce = false>
__device__ __forceinline__ void load_tile(const SegmentRecord& s, int32_t slot, uint32_t keys,
                                          uint32_t values, int thread) {
  constexpr int kChunks = D / 8, kAll = N * kChunks;
  const PageType key_type = s.key_type;
  const PageType value_type = s.value_type;
  const int key_bytes = stored_bytes(key_type, D), value_bytes = stored_bytes(value_type, D);
  const int32_t* index = lists_rows(s) ? s.index : nullptr;
  const std::byte* const* pages = s.pages;
  // All slots of a tile are in one page, unless the segment lists single rows.
  const std::byte* page = index == nullptr ? page_of(s, slot / kPageRows) : nullptr;
  const int32_t first = s.shift - slot, end = first + s.count;
  // Calls f for piece c of the tile (8 elements of one slot). Its arguments are the piece's byte
  // offset in the tile, its number within the row, the stored key, the stored value, and whether
  // the slot has a key.
  const auto piece = [&](int c, auto f) {
    const int n = c / kChunks, chunk = c % kChunks;
    const bool present = n >= first && n < end;
    const std::byte* in = page;
    int at = slot + n;
    if (index != nullptr) {
      at = present ? __ldg(index + at) : 0;
      in = pages[at / kPageRows];
    }
    at %= kPageRows;
    f(static_cast<uint32_t>(n * kPitch<D> + chunk * 16), chunk, in + at * key_bytes,
      in + kPageRows * key_bytes + at * value_bytes, present);
  };
  if (key_type == PageType::kBF16 && value_type == PageType::kBF16) {
#pragma unroll
    for (int i = 0; i < (kAll + threads - 1) / threads; ++i) {
      const int c = thread + i * threads;
      if (kAll % threads != 0 && c >= kAll) break;
      piece(c, [&](uint32_t to, int chunk, auto* key, auto* value, bool present) {
        if constexpr (kOnce) {
          copy_16_once(keys + to, key + chunk * 16, present);
          copy_16_once(values + to, value + chunk * 16, present);
        } else {
          copy_16(keys + to, key + chunk * 16, present);
          copy_16(values + to, value + chunk * 16, present);
        }
      });
    }
    return;
  }
#pragma unroll 2
  for (int c = thread; c < kAll; c += threads) {
    piece(c, [&](uint32_t to, int chunk, auto* key, auto* value, bool present) {
      copy_eight(keys + to, key, key_type, chunk, present);
      copy_eight(values + to, value, value_type, chunk, present);
    });
  }
}

__device__ __forceinline__ void rotate_pair(uint32_t& a, uint32_t& b, float2 cosine, float2 sine) {
  const float a0 = low_of(a), a1 = high_of(a), b0 = low_of(b), b1 = high_of(b);
  a = bf16_pair(a0 * cosine.x - b0 * sine.x, a1 * cosine.y - b1 * sine.y);
  b = bf16_pair(b0 * cosine.x + a0 * sine.x, b1 * cosine.y + a1 * sine.y);
}

/// Rotates the eight elements at `low` together with their RoPE partners, the eight at `high`. Both
/// are in shared memory.
__device__ __forceinline__ void rotate_eight(uint32_t low, uint32_t high, const float4 (&cosine)[2],
                                             const float4 (&sine)[2]) {
  uint4 a = load_16(low), b = load_16(high);
  rotate_pair(a.x, b.x, {cosine[0].x, cosine[0].y}, {sine[0].x, sine[0].y});
  rotate_pair(a.y, b.y, {cosine[0].z, cosine[0].w}, {sine[0].z, sine[0].w});
  rotate_pair(a.z, b.z, {cosine[1].x, cosine[1].y}, {sine[1].x, sine[1].y});
  rotate_pair(a.w, b.w, {cosine[1].z, cosine[1].w}, {sine[1].z, sine[1].w});
  store_16(low, a);
  store_16(high, b);
}

/// Rotates the element at `low` together with its RoPE partner at `high`.
__device__ __forceinline__ void rotate_one(uint32_t low, uint32_t high, float cosine, float sine) {
  uint16_t x, y;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(low) : "memory");
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(y) : "r"(high) : "memory");
  const float a = __uint_as_float(static_cast<uint32_t>(x) << 16);
  const float b = __uint_as_float(static_cast<uint32_t>(y) << 16);
  const uint32_t both = bf16_pair(a * cosine - b * sine, b * cosine + a * sine);
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(low), "h"(static_cast<uint16_t>(both)) : "memory");
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(high), "h"(static_cast<uint16_t>(both >> 16))
               : "memory");
}

/// Rotates the N keys of a tile in place. Key n has position `position` + offsets[n]. A thread
/// loads at most 16 * kMost floats of the rotation table at once.
template <int D, int N, int threads, int kMost = 4>
__device__ __forceinline__ void rotate_tile(const RotationTable& table, uint32_t keys,
                                            const int32_t* offsets, int64_t position, int thread) {
  const int half = table.half;
  if (table.in_eights) {
    // A thread starts several loads from the table before it uses their results, because the
    // latency of a single load is longer than all matrix products of the tile.
    constexpr int kOwn = (N * (D / 16) + threads - 1) / threads,
                  kBatch = kOwn < kMost ? kOwn : kMost;
    const int chunks = half / 8;
    for (int c = thread; c < N * chunks; c += kBatch * threads) {
      float4 cosine[kBatch][2], sine[kBatch][2];
      bool rotated[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int n = (c + i * threads) / chunks, chunk = (c + i * threads) % chunks;
        rotated[i] = n < N && offsets[n] != kNoKey;
        if (!rotated[i]) continue;
        const int64_t at = (position + offsets[n] - table.first) * half + 8 * chunk;
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          cosine[i][k] = __ldg(reinterpret_cast<const float4*>(table.cosine + at) + k);
          sine[i][k] = __ldg(reinterpret_cast<const float4*>(table.sine + at) + k);
        }
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (!rotated[i]) continue;
        const int n = (c + i * threads) / chunks, chunk = (c + i * threads) % chunks;
        const uint32_t low = keys + n * kPitch<D> + chunk * 16, high = low + half * 2;
        rotate_eight(low, high, cosine[i], sine[i]);
      }
    }
    return;
  }
  for (int c = thread; c < N * half; c += threads) {
    const int n = c / half, t = c % half;
    if (offsets[n] == kNoKey) continue;
    const int64_t at = (position + offsets[n] - table.first) * half + t;
    const float cosine = __ldg(table.cosine + at), sine = __ldg(table.sine + at);
    const uint32_t low = keys + n * kPitch<D> + t * 2, high = low + half * 2;
    rotate_one(low, high, cosine, sine);
  }
}

}  // namespace longhaul::cuda
