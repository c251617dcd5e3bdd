#pragma once
// Implements DecodeBf16 (decode_bf16.h) with vector instructions that multiply pairs of bf16. These
// process twice as many elements as f32 instructions. In block formats, a table yields the bf16
// numbers of the nibbles (decode_blocks.h). Include this only in *.isa.cc files, which are compiled
// once per instruction set.

#include <cstddef>
#include <cstring>

#include "ops/attention/decode/decode_blocks.h"
#include "ops/attention/decode/decode_rows.h"
#include "ops/core/isa/prefetch.h"
#include "ops/core/isa/scratch_layout.h"

namespace longhaul::LH_ISA {

#if defined(__AVX512BF16__)
class DecodePairs {
 public:
  static constexpr int kKeys = 64;  ///< largest number of keys per group

  static bool serves(int dim) { return dim % 32 == 0; }

  struct Scratch {
    uint16_t* queries;  ///< [rows][high, low terms][dim]
    uint16_t* weights;  ///< [rows][blocks][high, low terms][kKeys]; 1 block if values are bf16
    float* scales;      ///< [blocks, kKeys] scales of the keys or of the values
    float* out;         ///< [rows, dim] output sums, elements in the order of pair_element()

    Scratch(ScratchLayout& layout, int padded_dim) {
      const size_t dim = static_cast<size_t>(padded_dim);
      layout.take(queries, 2 * kDecodeRows * dim);
      layout.take(weights, 2 * kDecodeRows * kKeys * ((dim + 31) / 32));
      layout.take(scales, kKeys * ((dim + 31) / 32));
      layout.take(out, kDecodeRows * dim);
    }
  };

  DecodePairs(int dim, int rows, const Scratch& scratch) : dim_(dim), rows_(rows), s_(scratch) {
    read_as(DType::BF16, DType::BF16);
    std::memset(s_.out, 0, sizeof(float) * static_cast<size_t>(rows * dim));
  }

  static void begin() {}
  static void end() {}

  /// Sets the types of the keys and values that later calls read. in_bf16() must be true for both
  /// types. All calls must use the same type of values.
  void read_as(DType keys, DType values) {
    value_type_ = values;
    score_ = pick_bf16<ScoreKeys>(keys, rows_);
    add_ = pick_bf16<AddValues>(values, rows_);
  }

  /// Loads the queries [rows, dim], which are in f32.
  void load_queries(const float* queries) {
    for (int m = 0; m < rows_; ++m) {
      uint16_t* terms = s_.queries + 2 * m * dim_;
      for (int t = 0; t < dim_; t += kLanes) {
        split_to_bf16(load(queries + m * dim_ + t), terms + t, terms + dim_ + t);
      }
    }
  }

  /// Computes weights[m * kKeys + i] as the dot product of query m and key i, for each i < count.
  /// Entries from `count` to the next multiple of 16 are unspecified. Also prefetches the rows
  /// `ahead`, which the caller reads later.
  void score(const std::byte* const* key, int /*row_bytes*/, int count, float* weights,
             const RowsAhead& ahead) {
    score_({*this, key, count, weights, nullptr, ahead});
  }

  /// Multiplies the output sums of row m by `factor`.
  void scale_row(int m, float factor) {
    float* out = s_.out + m * dim_;
    for (int t = 0; t < dim_; t += kLanes) store(out + t, load(out + t) * splat(factor));
  }

  /// Adds weights[m * kKeys + i] * value[i] to the output sums of row m, for each i < count.
  /// Weights from `count` to kKeys must be zero. Also prefetches the rows `ahead`, which the caller
  /// reads later.
  void add_values(const std::byte* const* value, int count, const float* weights,
                  const RowsAhead& ahead) {
    add_({*this, value, count, nullptr, weights, ahead});
  }

  /// Writes the output sums as [rows, dim].
  void read_sums(float* out) const {
    for (int m = 0; m < rows_; ++m) {
      for (int t = 0; t < dim_; ++t) {
        out[m * dim_ + pair_element(value_type_, t)] = s_.out[m * dim_ + t];
      }
    }
  }

 private:
  struct Group {
    const DecodePairs& decode;
    const std::byte* const* row;  // stored keys or stored values
    int count;
    float* scores;         // [rows, kKeys]; used when scoring keys
    const float* weights;  // [rows, kKeys]; used when adding values
    RowsAhead ahead;
  };

  template <template <DType, int> class Kernel>
  static auto pick_bf16(DType type, int rows) -> void (*)(const Group&) {
    switch (type) {
      case DType::Q4_0:
        return pick_rows<Kernel, DType::Q4_0>(rows);
      default:
        return pick_rows<Kernel, DType::BF16>(rows);
    }
  }

  template <DType T, int M>
  struct ScoreKeys {
    static void run(const Group& g) {
      const int dim = g.decode.dim_;
      const uint16_t* queries = g.decode.s_.queries;
      float* const scales = g.decode.s_.scales;
      if constexpr (kInBlocks<T>) load_scales<T>(g.row, g.count, dim / 32, kKeys, scales);
      for (int begin = 0; begin < g.count; begin += kLanes) {
        Vec partial[M][kLanes];
        for (int i = 0; i < kLanes; ++i) {
          const int at = begin + i < g.count ? begin + i : begin;
          prefetch_bytes(g.ahead.rows[at], g.ahead.bytes);
          __m512 sum[M] = {};
          const std::byte* from = g.row[at];
          const float* scale = scales + at;
#pragma GCC unroll 2
          for (int t = 0; t < dim; t += 32, from += kBytesOf32<T>, scale += kKeys) {
            const auto key = (__m512bh)load_numbers<T>(from);
            for (int m = 0; m < M; ++m) {
              const uint16_t* terms = queries + 2 * m * dim + t;
              __m512 part = kInBlocks<T> ? _mm512_setzero_ps() : sum[m];
              part = _mm512_dpbf16_ps(part, key, load_pairs(terms));
              part = _mm512_dpbf16_ps(part, key, load_pairs(terms + dim));
              if constexpr (kInBlocks<T>) {
                part = _mm512_fmadd_ps(part, _mm512_set1_ps(*scale), sum[m]);
              }
              sum[m] = part;
            }
          }
          for (int m = 0; m < M; ++m) partial[m][i] = (Vec)sum[m];
        }
        for (int m = 0; m < M; ++m) {
          store(g.scores + m * kKeys + begin, reduce_lanes<Add>(partial[m]));
        }
      }
    }
  };

  template <DType T, int M>
  struct AddValues {
    static void run(const Group& g) {
      split_weights<T>(g);
      constexpr int kAtOnce = M <= 3 ? 2 : 1;  // number of groups of 32 elements that are processed
                                               // together, with 2 registers of sums per group and
                                               // row
      int t = 0;
      for (; t + 32 * kAtOnce <= g.decode.dim_; t += 32 * kAtOnce) at<kAtOnce>(g, t);
      for (; t < g.decode.dim_; t += 32) at<1>(g, t);
    }

    /// Processes elements [t, t + 32 * N) of all values.
    template <int N>
    static void at(const Group& g, int t) {
      const int dim = g.decode.dim_;
      __m512 sum[M][2 * N];
      float* const out = g.decode.s_.out + t;
      for (int m = 0; m < M; ++m) {
        for (int n = 0; n < 2 * N; ++n) sum[m][n] = _mm512_loadu_ps(out + m * dim + 16 * n);
      }
      for (int i = 0; i < g.count; i += 2) {
        // If i is the last row, `second` is the same row, with a weight of zero.
        const int second = i + 1 < g.count ? i + 1 : i;
        if (t == 0) {
          prefetch_bytes(g.ahead.rows[i], g.ahead.bytes);
          prefetch_bytes(g.ahead.rows[second], g.ahead.bytes);
        }
        __m512bh pairs[2 * N];
        for (int n = 0; n < N; ++n) {
          const int from = (t / 32 + n) * kBytesOf32<T>;
          load_number_pairs<T>(g.row[i] + from, g.row[second] + from, pairs + 2 * n);
        }
        for (int m = 0; m < M; ++m) {
          for (int n = 0; n < 2 * N; ++n) {
            const uint16_t* terms = g.decode.terms_of<T>(m, t / 32 + n / 2) + i;
            sum[m][n] = _mm512_dpbf16_ps(sum[m][n], broadcast_pair(terms), pairs[n]);
            sum[m][n] = _mm512_dpbf16_ps(sum[m][n], broadcast_pair(terms + kKeys), pairs[n]);
          }
        }
      }
      for (int m = 0; m < M; ++m) {
        for (int n = 0; n < 2 * N; ++n) _mm512_storeu_ps(out + m * dim + 16 * n, sum[m][n]);
      }
    }
  };

  /// Returns the address of row m's weights for block `block` of the values: first their high
  /// terms, then their low terms.
  template <DType T>
  uint16_t* terms_of(int m, int block) const {
    return s_.weights + 2 * kKeys * (kInBlocks<T> ? m * (dim_ / 32) + block : m);
  }

  /// Splits each softmax weight into two bf16 terms. For block formats, first multiplies the weight
  /// by the scale of each block.
  template <DType T>
  static void split_weights(const Group& g) {
    const DecodePairs& decode = g.decode;
    const int blocks = decode.dim_ / 32;
    if constexpr (kInBlocks<T>) load_scales<T>(g.row, g.count, blocks, kKeys, decode.s_.scales);
    for (int m = 0; m < decode.rows_; ++m) {
      for (int block = 0; block < (kInBlocks<T> ? blocks : 1); ++block) {
        uint16_t* terms = decode.terms_of<T>(m, block);
        for (int i = 0; i < kKeys; i += kLanes) {
          Vec weight = load(g.weights + m * kKeys + i);
          if (kInBlocks<T> && i < g.count) weight *= load(decode.s_.scales + block * kKeys + i);
          split_to_bf16(weight, terms + i, terms + kKeys + i);
        }
      }
    }
  }

  static __m512bh load_pairs(const void* p) { return (__m512bh)_mm512_loadu_si512(p); }

  static __m512bh broadcast_pair(const uint16_t* p) {
    int32_t bits;
    std::memcpy(&bits, p, 4);
    return (__m512bh)_mm512_set1_epi32(bits);
  }

  int dim_, rows_;
  DType value_type_ = DType::BF16;
  const Scratch s_;
  void (*score_)(const Group&);
  void (*add_)(const Group&);
};
#endif

}  // namespace longhaul::LH_ISA
