#pragma once
// Packs a block of keys and values into the layouts that the matrix products of the prefill kernel
// read. Keys and values may have any stored type. Keys are rotated if necessary. Include this only
// in *.isa.cc files, which are compiled once per instruction set.

#include "ops/attention/attention_kernels.h"
#include "ops/attention/key_rows.h"
#include "ops/core/isa/scratch_layout.h"
#include "ops/core/transpose.h"

namespace longhaul::LH_ISA {

struct KeyBlock {
  const KeySegment* segment;
  const Rotations* rotations;  ///< rotations of the keys; null if the keys need none
  int64_t begin;               ///< first key of the block within the segment
  int count;                   ///< number of keys, at most kTileKeys
  int padded_keys;             ///< count rounded up to a multiple of 32; the added keys are zeros
  int padded_dim;  ///< head_dim rounded up to a multiple of 32; the added elements are zeros
};

/// Returns the block of keys that begins at key `begin` of the segment. It ends at `end`, or
/// earlier if it has kTileKeys keys.
static inline KeyBlock block_from(const KeySegment& s, const Rotations* rotations, int64_t begin,
                                  int64_t end, int padded_dim) {
  const int count = end - begin < kTileKeys ? static_cast<int>(end - begin) : kTileKeys;
  return {&s, s.rotate ? rotations : nullptr, begin, count, round_up(count, 32), padded_dim};
}

static inline void load_key(const KeyBlock& b, const StoredRows& keys, int i, float* out) {
  const KeySegment& s = *b.segment;
  load_row(keys, keys.at(row_of(s, b.begin + i)), out);
  if (b.rotations != nullptr) rotate_in_place(*b.rotations, position_of(s, b.begin + i), out);
}

/// Packs a block for products in f32. Keys are transposed to [padded_dim, kTileKeys]. Values become
/// [kTileKeys, padded_dim]. If `values` is null, they are not packed.
static inline void pack(const KeyBlock& b, float* keys, float* values, float* /*unpacked_rows*/) {
  const StoredRows stored_keys = keys_of(b.segment->rows);
  const StoredRows stored_values = values_of(b.segment->rows);
  float row[kMostHeadDim];
  for (int i = 0; i < b.padded_keys; ++i) {
    if (i < b.count) load_key(b, stored_keys, i, row);
    const int live = i < b.count ? stored_keys.head_dim : 0;
    for (int t = 0; t < live; ++t) keys[t * kTileKeys + i] = row[t];
    for (int t = live; t < b.padded_dim; ++t) keys[t * kTileKeys + i] = 0.0f;
    if (values == nullptr) continue;
    float* value = values + static_cast<int64_t>(i) * b.padded_dim;
    if (i < b.count)
      load_row(stored_values, stored_values.at(row_of(*b.segment, b.begin + i)), value);
    for (int t = live; t < b.padded_dim; ++t) value[t] = 0.0f;
  }
}

#if defined(__AVX512BF16__)
/// Interleaves 32 elements of two rows: out[2 * t] = even[t], out[2 * t + 1] = odd[t].
static inline void interleave_32(__m512i even, __m512i odd, uint16_t* out) {
  alignas(64) static constexpr uint16_t kLow[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                    37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                    11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i low = _mm512_load_si512(kLow);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  _mm512_storeu_si512(out, _mm512_permutex2var_epi16(even, low, odd));
  _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi16(even, high, odd));
}

/// Returns a stored key or value as bf16 [padded_dim]. If the row is stored in bf16 and needs no
/// change, the result is the stored row itself. Otherwise the result is in `scratch`. If
/// `rotations` is not null, the row is rotated to `position`.
static inline const uint16_t* bf16_row(const StoredRows& rows, const std::byte* row, int padded_dim,
                                       const Rotations* rotations, int64_t position,
                                       uint16_t* scratch) {
  if (rows.type == DType::BF16 && rotations == nullptr && rows.head_dim == padded_dim) {
    return reinterpret_cast<const uint16_t*>(row);
  }
  if (rotations == nullptr && !rows.mixed &&
      (rows.type == DType::Q8_0 || rows.type == DType::Q4_0)) {
    // The row has padded_dim elements, because head_dim is a multiple of 32 in block types.
    expand_to_bf16(rows.type, row, padded_dim, scratch);
    return scratch;
  }
  float wide[kMostHeadDim];
  load_row(rows, row, wide);
  if (rotations != nullptr) rotate_in_place(*rotations, position, wide);
  for (int t = rows.head_dim; t < padded_dim; ++t) wide[t] = 0.0f;
  for (int t = 0; t < padded_dim; t += 16) store_bf16(scratch + t, load(wide + t));
  return scratch;
}

/// Packs a block for products in bf16. Keys become [padded_dim / 2, kTileKeys] pairs of adjacent
/// elements. Values become [padded_keys / 2, padded_dim] pairs of adjacent keys. If `values` is
/// null, they are not packed. `unpacked_rows` is scratch memory for 32 * padded_dim elements.
static inline void pack(const KeyBlock& b, uint16_t* keys, uint16_t* values,
                        uint16_t* unpacked_rows) {
  const KeySegment& s = *b.segment;
  const StoredRows stored_keys = keys_of(s.rows), stored_values = values_of(s.rows);
  const int dim = b.padded_dim;
  uint16_t* zeros = unpacked_rows + 16 * dim;
  std::memset(zeros, 0, static_cast<size_t>(2 * dim));
  for (int g = 0; g < b.padded_keys; g += 16) {
    const uint16_t* key[16];
    const uint16_t* value[16];
    for (int i = 0; i < 16; ++i) {
      if (g + i >= b.count) {
        key[i] = zeros;
        continue;
      }
      const int64_t at = b.begin + g + i;
      key[i] = bf16_row(stored_keys, stored_keys.at(row_of(s, at)), dim, b.rotations,
                        b.rotations != nullptr ? position_of(s, at) : 0, unpacked_rows + i * dim);
    }
    for (int t = 0; t < dim; t += 32) {
      __m512i in[16];
      for (int i = 0; i < 16; ++i) in[i] = _mm512_loadu_si512(key[i] + t);
      transpose_16x16(in, reinterpret_cast<uint32_t*>(keys) + t / 2 * kTileKeys + g, kTileKeys);
    }
    if (values == nullptr) continue;
    for (int i = 0; i < 16; ++i) {
      value[i] = g + i >= b.count
                     ? zeros
                     : bf16_row(stored_values, stored_values.at(row_of(s, b.begin + g + i)), dim,
                                nullptr, 0, unpacked_rows + i * dim);
    }
    for (int i = 0; i < 16; i += 2) {
      uint16_t* out = values + static_cast<int64_t>(g + i) * dim;
      for (int t = 0; t < dim; t += 32) {
        interleave_32(_mm512_loadu_si512(value[i] + t), _mm512_loadu_si512(value[i + 1] + t),
                      out + 2 * t);
      }
    }
  }
}
#endif

}  // namespace longhaul::LH_ISA
