#pragma once
// Implements DecodeBf16 (decode_bf16.h) on the matrix unit (AMX). Include this only in *.isa.cc
// files, which are compiled once per instruction set.

#include <cstddef>
#include <cstring>

#include "ops/attention/decode/decode_terms.h"
#include "ops/core/isa/amx_tiles.h"
#include "ops/core/isa/prefetch.h"
#include "ops/core/isa/scratch_layout.h"

namespace longhaul::LH_ISA {

#if defined(__AMX_BF16__)
class DecodeTiles {
 public:
  static constexpr int kKeys = 64;  ///< largest number of keys per group
  static constexpr int kRows = 8;   ///< largest number of query rows

  static bool serves(int dim) { return dim % 32 == 0; }

  struct Scratch {
    uint16_t* queries;  ///< [high, low terms][dim / 2 pairs][16 columns][2]
    uint16_t* keys;     ///< [2 blocks of keys, 16, dim]
    uint16_t* values;   ///< [dim / 16][16 pairs of keys][16 elements][2]
    uint16_t* weights;  ///< [high, low terms][kRows][kKeys]
    float* scores;      ///< [16 keys, 16 columns]
    float* out;         ///< [dim / 16][kRows][16] output sums

    Scratch(ScratchLayout& layout, int padded_dim) {
      const size_t dim = static_cast<size_t>(padded_dim);
      layout.take(queries, 32 * dim);
      layout.take(keys, 32 * dim);
      layout.take(values, 32 * dim);
      layout.take(weights, 2 * kRows * kKeys);
      layout.take(scores, 16 * 16);
      layout.take(out, kRows * dim);
    }
  };

  DecodeTiles(int dim, int rows, const Scratch& scratch) : dim_(dim), rows_(rows), s_(scratch) {
    const size_t d = static_cast<size_t>(dim);
    std::memset(s_.queries, 0, sizeof(uint16_t) * 32 * d);
    std::memset(s_.weights, 0, sizeof(uint16_t) * 2 * kRows * kKeys);
    std::memset(s_.out, 0, sizeof(float) * kRows * d);
  }

  static void begin() {
    // Tiles 0 to 4 have 16 rows. They hold the scores of two blocks of keys, the keys, and two
    // operands (queries or values). Tiles 5 to 7 have kRows rows. They hold the sums, the high
    // terms and the low terms of the weights. Each row of a tile has 64 bytes.
    alignas(64) static const uint8_t config[64] = {
        1, 0,  0, 0,  0, 0,  0, 0,  0, 0,  0,  0,  0,  0,  0,  0,     64,    0,    64,
        0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0,  64, 0,  0,  0,  0,     0,     0,    0,
        0, 0,  0, 0,  0, 0,  0, 0,  0, 0,  16, 16, 16, 16, 16, kRows, kRows, kRows};
    _tile_loadconfig(config);
  }
  static void end() { _tile_release(); }

  /// Sets the types of the keys and values that later calls read. in_bf16() must be true for both
  /// types.
  void read_as(DType keys, DType values) { key_type_ = keys, value_type_ = values; }

  /// Converts f32 queries [rows, dim] to pairs of adjacent elements, the format of the right
  /// operand. Each query row becomes one column.
  void load_queries(const float* queries) {
    for (int m = 0; m < rows_; ++m) {
      for (int t = 0; t < dim_; t += 16) {
        const Vec x = load(queries + m * dim_ + t);
        uint16_t terms[2][16];
        split_to_bf16(x, terms[0], terms[1]);
        for (int term = 0; term < 2; ++term) {
          for (int i = 0; i < 16; ++i) {
            // Element t of a query is at [term][t / 2][column m][t % 2].
            const int pair = t + i;
            s_.queries[term * 16 * dim_ + pair / 2 * 32 + 2 * m + pair % 2] = terms[term][i];
          }
        }
      }
    }
  }

  /// Computes weights[m * kKeys + i] as the dot product of query m and key i, for each i < count.
  /// Entries from `count` to the next multiple of 32 are unspecified. Also prefetches the rows
  /// `ahead`, which the caller reads later.
  void score(const std::byte* const* key, int row_bytes, int count, float* weights,
             const RowsAhead& ahead) {
    for (int g = 0; g < count; g += 32) {
      for (int i = g; i < g + 32 && i < count; ++i) {
        prefetch_bytes(ahead.rows[i], ahead.bytes);
      }
      const std::byte* block[2];
      int64_t stride[2];
      for (int b = 0; b < 2; ++b)
        block[b] = even_rows(key, g + 16 * b, row_bytes, count, &stride[b]);
      const bool both = g + 16 < count;
      _tile_zero(0);
      _tile_zero(1);
      for (int t = 0; t < dim_; t += 32) {
        LH_LOAD_TILE(3, s_.queries + 16 * t, 64);
        LH_LOAD_TILE(4, s_.queries + 16 * (dim_ + t), 64);
        LH_LOAD_TILE(2, block[0] + 2 * t, stride[0]);
        _tile_dpbf16ps(0, 2, 3);
        _tile_dpbf16ps(0, 2, 4);
        if (!both) continue;
        LH_LOAD_TILE(2, block[1] + 2 * t, stride[1]);
        _tile_dpbf16ps(1, 2, 3);
        _tile_dpbf16ps(1, 2, 4);
      }
      LH_STORE_TILE(0, s_.scores, 64);
      transpose(weights + g);
      if (!both) continue;
      LH_STORE_TILE(1, s_.scores, 64);
      transpose(weights + g + 16);
    }
  }

  /// Multiplies the output sums of row m by `factor`.
  void scale_row(int m, float factor) {
    for (int t = 0; t < dim_; t += 16) {
      float* at = s_.out + t * kRows + m * 16;
      store(at, load(at) * splat(factor));
    }
  }

  /// Adds weights[m * kKeys + i] * value[i] to the output sums of row m, for each i < count.
  /// Weights from `count` to kKeys must be zero. Also prefetches the rows `ahead`, which the caller
  /// reads later.
  void add_values(const std::byte* const* value, int count, const float* weights,
                  const RowsAhead& ahead) {
    for (int m = 0; m < rows_; ++m) {
      for (int i = 0; i < kKeys; i += 16) {
        split_to_bf16(load(weights + m * kKeys + i), s_.weights + m * kKeys + i,
                      s_.weights + (kRows + m) * kKeys + i);
      }
    }
    for (int g = 0; g < count; g += 32) {
      switch (value_type_) {
        case DType::Q4_0:
          pack_values<DType::Q4_0>(value, g, count, ahead);
          break;
        default:
          pack_values<DType::BF16>(value, g, count, ahead);
          break;
      }
      LH_LOAD_TILE(6, s_.weights + g, 2 * kKeys);
      LH_LOAD_TILE(7, s_.weights + kRows * kKeys + g, 2 * kKeys);
      for (int t = 0; t < dim_; t += 16) {
        float* sums = s_.out + t * kRows;
        LH_LOAD_TILE(5, sums, 64);
        LH_LOAD_TILE(3, s_.values + 32 * t, 64);
        _tile_dpbf16ps(5, 6, 3);
        _tile_dpbf16ps(5, 7, 3);
        LH_STORE_TILE(5, sums, 64);
      }
    }
  }

  /// Writes the output sums as [rows, dim].
  void read_sums(float* out) const {
    for (int m = 0; m < rows_; ++m) {
      for (int t = 0; t < dim_; ++t)
        out[m * dim_ + unpacked_element(t)] = s_.out[t / 16 * 16 * kRows + m * 16 + t % 16];
    }
  }

 private:
  /// Returns the address of 16 keys in bf16, beginning with key `at`, and sets *stride to the bytes
  /// between them. If the keys are not in bf16 or not evenly spaced, they are first copied to
  /// s_.keys. Returns null if `at` is not below `count`.
  const std::byte* even_rows(const std::byte* const* key, int at, int row_bytes, int count,
                             int64_t* stride) {
    *stride = row_bytes;
    if (at >= count) return nullptr;
    if (at + 16 <= count && key_type_ == DType::BF16) {
      const __m512i eight = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
      const __m512i step = _mm512_mullo_epi64(eight, _mm512_set1_epi64(row_bytes));
      const __m512i first = _mm512_add_epi64(_mm512_set1_epi64((long long)key[at]), step);
      const __m512i second = _mm512_add_epi64(first, _mm512_set1_epi64(8 * row_bytes));
      if ((_mm512_cmpneq_epi64_mask(first, _mm512_loadu_si512(key + at)) |
           _mm512_cmpneq_epi64_mask(second, _mm512_loadu_si512(key + at + 8))) == 0) {
        return key[at];
      }
    }
    uint16_t* to = s_.keys + at / 16 % 2 * 16 * dim_;  // two blocks are in use at a time
    for (int i = 0; i < 16; ++i) {
      copy_key(key[at + i < count ? at + i : at], to + i * dim_);
    }
    *stride = 2 * dim_;
    return reinterpret_cast<const std::byte*>(to);
  }

  void copy_key(const std::byte* from, uint16_t* to) const {
    if (key_type_ != DType::BF16) return expand_to_bf16(key_type_, from, dim_, to);
    std::memcpy(to, from, 2 * static_cast<size_t>(dim_));
  }

  /// Transposes s_.scores [16 keys, 16 query rows] into weights[m * kKeys + key].
  void transpose(float* weights) const {
    for (int m = 0; m < rows_; m += 4) {
      __m512 rows[4];
      for (int j = 0; j < 4; ++j) {  // 128-bit lane l gets key 4 * l + j
        const float* from = s_.scores + j * 16 + m;
        rows[j] = _mm512_castps128_ps512(_mm_load_ps(from));
        rows[j] = _mm512_insertf32x4(rows[j], _mm_load_ps(from + 4 * 16), 1);
        rows[j] = _mm512_insertf32x4(rows[j], _mm_load_ps(from + 8 * 16), 2);
        rows[j] = _mm512_insertf32x4(rows[j], _mm_load_ps(from + 12 * 16), 3);
      }
      const __m512d a = (__m512d)_mm512_unpacklo_ps(rows[0], rows[1]);
      const __m512d b = (__m512d)_mm512_unpackhi_ps(rows[0], rows[1]);
      const __m512d c = (__m512d)_mm512_unpacklo_ps(rows[2], rows[3]);
      const __m512d d = (__m512d)_mm512_unpackhi_ps(rows[2], rows[3]);
      store(weights + m * kKeys, (Vec)_mm512_unpacklo_pd(a, c));
      store(weights + (m + 1) * kKeys, (Vec)_mm512_unpackhi_pd(a, c));
      store(weights + (m + 2) * kKeys, (Vec)_mm512_unpacklo_pd(b, d));
      store(weights + (m + 3) * kKeys, (Vec)_mm512_unpackhi_pd(b, d));
    }
  }

  /// Packs 32 values, beginning with value `at`, as pairs of neighbouring keys: [dim / 16][16
  /// pairs][16 elements][2].
  template <DType T>
  void pack_values(const std::byte* const* value, int at, int count, const RowsAhead& ahead) {
    for (int pair = 0; pair < 16; ++pair) {
      const int i = at + 2 * pair;
      const std::byte* first = value[i < count ? i : count - 1];
      const std::byte* second = value[i + 1 < count ? i + 1 : count - 1];
      prefetch_bytes(ahead.rows[i < count ? i : count - 1], ahead.bytes);
      prefetch_bytes(ahead.rows[i + 1 < count ? i + 1 : count - 1], ahead.bytes);
      for (int t = 0; t < dim_; t += 32) {
        const __m512i a = load_32_bf16<T>(first, t), b = load_32_bf16<T>(second, t);
        uint16_t* to = s_.values + 32 * t + 32 * pair;
        _mm512_store_si512(to, _mm512_unpacklo_epi16(a, b));
        _mm512_store_si512(to + 16 * 32, _mm512_unpackhi_epi16(a, b));
      }
    }
  }

  int dim_, rows_;
  DType key_type_ = DType::BF16, value_type_ = DType::BF16;
  const Scratch s_;
};

#endif

}  // namespace longhaul::LH_ISA
