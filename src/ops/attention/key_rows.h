#pragma once
// Reads the stored rows of a key segment: computes their addresses and reads their elements as f32
// or bf16, rotated if necessary. Include this only in *.isa.cc files, which are compiled once per
// instruction set.

#include "ops/attention/attention.h"
#include "ops/attention/stored_key.h"
#include "ops/attention/visible_keys.h"
#include "ops/core/mix_blocks.h"

namespace longhaul::LH_ISA {

static inline int64_t position_of(const KeySegment& s, int64_t i) {
  return s.indexed_positions ? s.position + s.index.address()[i] : s.position + i;
}

/// The location and format of the keys, or of the values, of one KV head (PagedRows).
struct StoredRows {
  const std::byte* const* pages;
  DType type;
  int head_dim;
  int stride;  ///< bytes between the beginnings of two rows of a page
  int page_rows;
  int64_t in_page;  ///< byte offset of the first key or value within a page
  /// Whether the rows are stored Hadamard-rotated, as keys of some types are
  /// (ops/attention/stored_key.h).
  bool mixed;

  const std::byte* at(int64_t row) const {
    const int shift = __builtin_ctz(static_cast<unsigned>(page_rows));
    return pages[row >> shift] + in_page + (row & (page_rows - 1)) * stride;
  }
};

static inline int stored_bytes(DType type, int head_dim) {
  switch (type) {
    case DType::F32:
      return 4 * head_dim;
    case DType::Q8_0:
      return head_dim / 32 * 34;
    case DType::Q4_0:
      return head_dim / 32 * 18;
    default:
      return 2 * head_dim;
  }
}

static inline StoredRows keys_of(const PagedRows& rows) {
  const DType type = rows.type.k;
  return {rows.pages,     type, rows.head_dim,        stored_bytes(type, rows.head_dim),
          rows.page_rows, 0,    type == kHadamardKeys};
}

static inline StoredRows values_of(const PagedRows& rows) {
  const DType type = rows.type.v;
  const int64_t keys =
      rows.values_in_keys ? 0 : int64_t{rows.page_rows} * stored_bytes(rows.type.k, rows.head_dim);
  return {rows.pages,     type, rows.head_dim, stored_bytes(type, rows.head_dim),
          rows.page_rows, keys, false};
}

/// Writes the addresses of keys (or values) [at, at + count) of a segment to `rows`. If the segment
/// has no index, rows are located page by page.
static inline void locate_rows(const KeySegment& s, const StoredRows& stored, int64_t at,
                               int64_t count, const std::byte** rows) {
  while (count > 0) {
    const int64_t row = row_of(s, at), page = stored.page_rows;
    int64_t run = s.index.empty() ? page - (row & (page - 1)) : 1;
    run = run < count ? run : count;
    const std::byte* first = stored.at(row);
    for (int64_t i = 0; i < run; ++i) rows[i] = first + i * stored.stride;
    at += run, count -= run, rows += run;
  }
}

static inline float f16_scalar(const std::byte* p) {
#if defined(__F16C__)
  uint16_t h;
  std::memcpy(&h, p, 2);
  return _cvtsh_ss(h);
#else
  uint16_t h[kLanes] = {};
  std::memcpy(h, p, 2);
  return first_lane(load_f16(h));
#endif
}

/// Returns elements [at, at + kLanes) of a stored row as f32.
template <DType T>
static inline Vec load_stored(const std::byte* row, int at) {
  if constexpr (T == DType::F32) {
    Vec v;
    std::memcpy(&v, row + 4 * at, sizeof v);
    return v;
  } else if constexpr (T == DType::F16) {
    return load_f16(reinterpret_cast<const uint16_t*>(row) + at);
  } else if constexpr (T == DType::BF16) {
    return load_bf16(reinterpret_cast<const uint16_t*>(row) + at);
  } else if constexpr (T == DType::Q8_0) {
    const std::byte* block = row + at / 32 * 34;
    return load_i8(block + 2 + at % 32) * splat(f16_scalar(block));
  } else {
    const std::byte* block = row + at / 32 * 18;
    return load_i4(block + 2 + at % 16, at % 32 < 16) * splat(f16_scalar(block));
  }
}

/// Number of elements that are loaded together. For block types it is the block size, so that the
/// scale is read once and offsets are compile-time constants. For other types it is the size of one
/// vector.
template <DType T>
inline constexpr int kStretch = T == DType::Q8_0 || T == DType::Q4_0 ? 32 : kLanes;

/// Returns vector `i` of the kStretch elements that begin at element `at` of a row. `at` is a
/// multiple of kStretch.
template <DType T>
static inline Vec load_of_stretch(const std::byte* row, int at, int i) {
  if constexpr (kStretch<T> == kLanes) {
    return load_stored<T>(row, at);
  } else {
    return load_stored<T>(row + at / 32 * (T == DType::Q8_0 ? 34 : 18), i * kLanes);
  }
}

template <DType T>
static inline void load_row_as(const std::byte* row, int head_dim, float* out) {
  int t = 0;
  for (; t + kLanes <= head_dim; t += kLanes) store(out + t, load_stored<T>(row, t));
  for (; t < head_dim; ++t) {  // only if head_dim is no multiple of kLanes (8 or 24, for example),
                               // which never holds for block types
    if constexpr (T == DType::F32) {
      std::memcpy(out + t, row + 4 * t, 4);
    } else if constexpr (T == DType::F16) {
      out[t] = f16_scalar(row + 2 * t);
    } else if constexpr (T == DType::BF16) {
      out[t] = bf16_lane(reinterpret_cast<const uint16_t*>(row) + t);
    }
  }
}

/// Reads a stored row as f32. If the row is stored Hadamard-rotated, the Hadamard rotation is
/// undone.
static inline void load_row(const StoredRows& rows, const std::byte* row, float* out) {
  switch (rows.type) {
    case DType::F32:
      return load_row_as<DType::F32>(row, rows.head_dim, out);
    case DType::F16:
      return load_row_as<DType::F16>(row, rows.head_dim, out);
    case DType::BF16:
      return load_row_as<DType::BF16>(row, rows.head_dim, out);
    case DType::Q8_0:
      return load_row_as<DType::Q8_0>(row, rows.head_dim, out);
    default:
      load_row_as<DType::Q4_0>(row, rows.head_dim, out);
      if (rows.mixed) mix_blocks(out, rows.head_dim);
  }
}

#if defined(__AVX512BF16__)
/// Reads elements [at, at + 32) of a stored row as bf16. Elements of block formats are multiplied
/// by their scale.
template <DType T>
static inline __m512i load_32_bf16(const std::byte* row, int at) {
  if constexpr (T == DType::BF16) {
    return _mm512_loadu_si512(row + 2 * at);
  } else if constexpr (T == DType::Q8_0) {
    const std::byte* block = row + at / 32 * 34;
    const Vec scale = splat(f16_scalar(block));
    const Vec low = load_i8(block + 2) * scale, high = load_i8(block + 18) * scale;
    return (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
  } else {
    static_assert(T == DType::Q4_0);
    // The 16 numbers that nibbles represent in this block are rounded once and then looked up by
    // nibble. The table holds each number twice, so that bit 4 of an index has no effect.
    const std::byte* block = row + at / 32 * 18;
    const Vec steps = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
    const __m512 numbers = (__m512)(steps * splat(f16_scalar(block)));
    const __m512i table = (__m512i)_mm512_cvtne2ps_pbh(numbers, numbers);
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 2));
    const __m256i low = _mm256_cvtepu8_epi16(packed), high = _mm256_srli_epi16(low, 4);
    const __m512i index = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    return _mm512_permutexvar_epi16(index, table);
  }
}
/// Converts a stored row of a block type to bf16 [dim]. `dim` is a multiple of 32.
static inline void expand_to_bf16(DType type, const std::byte* row, int dim, uint16_t* out) {
  for (int t = 0; t < dim; t += 32) {
    _mm512_storeu_si512(out + t, type == DType::Q4_0 ? load_32_bf16<DType::Q4_0>(row, t)
                                                     : load_32_bf16<DType::Q8_0>(row, t));
  }
}
#endif

/// Returns the dot product of a and b, which have n elements.
static inline float dot(const float* a, const float* b, int n) {
  Vec sum{};
  int t = 0;
  for (; t + kLanes <= n; t += kLanes) sum = fma(load(a + t), load(b + t), sum);
  float result = reduce_add(sum);
  for (; t < n; ++t) result += a[t] * b[t];
  return result;
}

static inline void rotate_in_place(const Rotations& r, int64_t position, float* x) {
  const int half = r.rotary_dim / 2;
  const float* cosine = r.cosine + (position - r.first) * half;
  const float* sine = r.sine + (position - r.first) * half;
  int t = 0;
  for (; t + kLanes <= half; t += kLanes) {
    const Vec a = load(x + t), b = load(x + t + half), c = load(cosine + t), w = load(sine + t);
    store(x + t, a * c - b * w);
    store(x + t + half, b * c + a * w);
  }
  for (; t < half; ++t) {
    const float a = x[t], b = x[t + half];
    x[t] = a * cosine[t] - b * sine[t];
    x[t + half] = b * cosine[t] + a * sine[t];
  }
}

}  // namespace longhaul::LH_ISA
