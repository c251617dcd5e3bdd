#pragma once
// Computes the dot products of decode queries and the keys of one tile on the matrix unit (AMX).
// Keys are read directly from their pages. A dot product is the score of the key. For *.isa.cc
// only.

#include "ops/attention/decode/decode_rows.h"
#include "ops/core/isa/amx_tiles.h"
#include "ops/core/isa/simd.h"
#include "ops/maps/top_keys_kernels.h"

namespace longhaul::LH_ISA {

#if defined(__AMX_BF16__)
class KeyScores {
 public:
  static bool serves(const HostCall& call, const PagedRows& keys) {
    return call.compute == AttendCompute::kBest && keys.type.k == DType::BF16 &&
           call.head_dim % 32 == 0 && call.head_dim <= 32 * kQueryTiles;
  }

  static void begin() {
    load_tile_config();  // tile 0: scores of 16 keys; tile 1: keys; tiles 4 to 7: queries
  }
  static void end() { _tile_release(); }

  /// Converts f32 queries [rows, dim] to bf16. They stay in tile registers until end().
  void load_queries(const float* queries, int rows, int dim) {
    dim_ = dim;
    std::memset(queries_, 0, sizeof queries_);
    for (int m = 0; m < rows; ++m) {
      for (int t = 0; t < dim; t += 16) {
        uint16_t x[16];
        store_bf16(x, load(queries + m * dim + t));
        for (int i = 0; i < 16; ++i) queries_[(t + i) / 2 * 32 + 2 * m + i % 2] = x[i];
      }
    }
    LH_LOAD_TILE(4, queries_, 64);
    if (dim > 32) LH_LOAD_TILE(5, queries_ + 16 * 32, 64);
    if (dim > 64) LH_LOAD_TILE(6, queries_ + 32 * 32, 64);
    if (dim > 96) LH_LOAD_TILE(7, queries_ + 48 * 32, 64);
  }

  /// Computes the scores of keys [at, at + count) of a segment. Lane m of the result is the best
  /// score for query m.
  __m512 score(const KeySegment& s, int stride, int64_t at, int count) {
    __m512 best = _mm512_set1_ps(kNoScore);
    for (int g = 0; g < count; g += 16) {
      const int keys = count - g < 16 ? count - g : 16;
      const std::byte* block = together(s, stride, at + g, keys);
      _tile_zero(0);
      multiply(block, stride);
      LH_STORE_TILE(0, scores_ + 16 * g, 64);
      for (int i = 0; i < keys; ++i) {
        best = _mm512_max_ps(best, _mm512_load_ps(scores_ + 16 * (g + i)));
      }
    }
    return best;
  }

  /// Writes the scores of query m and the first `count` keys to `out`, as the latest score()
  /// computed them.
  void column(int m, int count, float* out) const {
    for (int i = 0; i < count; ++i) out[i] = scores_[16 * i + m];
  }

 private:
  static constexpr int kQueryTiles = 4;

  void multiply(const std::byte* block, int stride) const {
    LH_LOAD_TILE(1, block, stride);
    _tile_dpbf16ps(0, 1, 4);
    if (dim_ > 32) {
      LH_LOAD_TILE(1, block + 64, stride);
      _tile_dpbf16ps(0, 1, 5);
    }
    if (dim_ > 64) {
      LH_LOAD_TILE(1, block + 128, stride);
      _tile_dpbf16ps(0, 1, 6);
    }
    if (dim_ > 96) {
      LH_LOAD_TILE(1, block + 192, stride);
      _tile_dpbf16ps(0, 1, 7);
    }
  }

  /// Returns the address of 16 contiguous keys. If a page or the segment ends among them, the keys
  /// are first copied to copied_.
  const std::byte* together(const KeySegment& s, int stride, int64_t at, int keys) {
    const int64_t row = row_of(s, at), page = s.rows.page_rows;
    const StoredRows stored = keys_of(s.rows);
    if (keys == 16 && (row & (page - 1)) + 16 <= page) return stored.at(row);
    for (int i = 0; i < 16; ++i) {
      const std::byte* from = stored.at(row_of(s, at + (i < keys ? i : 0)));
      std::memcpy(copied_ + i * dim_, from, static_cast<size_t>(stride));
    }
    return reinterpret_cast<const std::byte*>(copied_);
  }

  int dim_ = 0;
  alignas(64) uint16_t queries_[kQueryTiles * 16 * 32];  // [dim / 2 pairs][16 queries][2]
  alignas(64) uint16_t copied_[16 * 32 * kQueryTiles];   // [16, dim]
  alignas(64) float scores_[kTopTile * 16];              // [keys, queries]
};
#endif

}  // namespace longhaul::LH_ISA
