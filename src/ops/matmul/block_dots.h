#pragma once
// Multiplies weight rows of a block type by int8 activations (rows of x). Integer dot products of
// 16 or 32 elements are added up in f32: sum += d * scale * dot + m * sum_x. Here d and m belong to
// the weight block (weight_blocks.h), and scale and sum_x to the activations (matvec.h). With
// AVX-512, the K types (Q2_K to Q6_K) use factored_dots_avx512.h instead.

#include "ops/core/isa/prefetch.h"
#include "ops/matmul/matvec_kernels.h"
#include "ops/matmul/plain_row_sums.h"
#include "ops/matmul/small_blocks.h"
#include "ops/matmul/weight_blocks.h"

#if defined(__AVX512VNNI__)
#include "ops/matmul/block_dots_avx512.h"
#include "ops/matmul/factor_groups_avx512.h"
#include "ops/matmul/factored_dots_avx512.h"
#elif defined(__AVX2__)
#include "ops/matmul/block_dots_avx2.h"
#else
#include "ops/matmul/block_dots_generic.h"
#endif

namespace longhaul::LH_ISA {
namespace {

/// A group is 256 consecutive activations of a row of x. A dot product reads 384 bytes of each
/// group. kGroupsInCache groups fit into an L1 cache of 32 KiB, together with the weights, which
/// are read once. If all rows of x together have more groups, their columns are split into parts. A
/// part has at most kGroupsOfPart groups in all rows of x together. It is multiplied by kRowsOfPart
/// weight rows before the next part is read.
inline constexpr int64_t kGroupsInCache = 64, kGroupsOfPart = 40;
inline constexpr int kRowsOfPart = 16;

/// Multiplies all weight rows by `rows` rows of x, beginning with row `first`. `rows` is an int, or
/// a Rows constant if the number is known at compile time.
template <class Type, class Sums>
void block_rows_of(const MatvecRows& a, int64_t first, auto rows) {
  const int64_t groups = a.cols / 256;
  const int tail_blocks = static_cast<int>(a.cols % 256 / Type::kWeights);
  const ActivationGroup* x[kMostRowsOfX];
  for (int m = 0; m < rows; ++m) x[m] = a.groups + (first + m) * a.groups_per_row;
  const auto finish = [&](int64_t r, const uint8_t* tail, Sums& sums)
      __attribute__((always_inline)) {
    if (tail_blocks > 0) sums.add_tail(tail, tail_blocks, x, groups);
    const float bias = a.bias != nullptr ? a.bias[r] : 0.0f;
    for (int m = 0; m < rows; ++m) {
      a.y[(first + m) * a.y_stride + r] = sums.total(m) + bias;
    }
  };
  constexpr int kGroupBytes = 256 / Type::kWeights * Type::kBytes;
  if (rows * groups <= kGroupsInCache) {
    for (int64_t r = 0; r < a.rows; ++r) {
      const uint8_t* p = a.weight + static_cast<size_t>(r) * a.row_bytes;
      Sums sums(rows);
      for (int64_t g = 0; g < groups; ++g, p += kGroupBytes) {
        prefetch_ahead_of(p, kGroupBytes);
        sums.add_group(p, x, g);
      }
      if (tail_blocks > 0) prefetch_ahead_of(p, tail_blocks * Type::kBytes);
      finish(r, p, sums);
    }
    return;
  }
  // Each part of x is multiplied by several weight rows while it is in the L1 cache. The order of
  // additions does not depend on the parts.
  const int64_t part = kGroupsOfPart / rows;
  const size_t ahead = kRowsOfPart * a.row_bytes;
  for (int64_t r = 0; r < a.rows; r += kRowsOfPart) {
    const int64_t count = a.rows - r < kRowsOfPart ? a.rows - r : kRowsOfPart;
    const uint8_t* const p = a.weight + static_cast<size_t>(r) * a.row_bytes;
    Sums sums[kRowsOfPart];
    for (Sums& s : sums) s = Sums(rows);
    for (int64_t begin = 0; begin < groups; begin += part) {
      const int64_t end = groups - begin < part ? groups : begin + part;
      for (int64_t i = 0; i < count; ++i) {
        const uint8_t* group = p + static_cast<size_t>(i) * a.row_bytes + begin * kGroupBytes;
        Sums s = sums[i];
        for (int64_t g = begin; g < end; ++g, group += kGroupBytes) {
          prefetch_bytes(group + ahead, kGroupBytes);
          s.add_group(group, x, g);
        }
        sums[i] = s;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      finish(r + i, p + static_cast<size_t>(i) * a.row_bytes + groups * kGroupBytes, sums[i]);
    }
  }
}

template <class Type>
void plain_block_rows(const MatvecRows& a) {
  for (int64_t m = 0; m < a.x_rows; m += kMostRowsOfX) {
    const int64_t rows = a.x_rows - m < kMostRowsOfX ? a.x_rows - m : kMostRowsOfX;
    block_rows_of<Type, PlainRowSums<Type>>(a, m, static_cast<int>(rows));
  }
}

/// The function for the types of small_blocks.h, whose blocks are unpacked by loops without
/// intrinsics.
template <class Type>
constexpr auto* unpacked_rows = plain_block_rows<Unpacked<Type>>;

#if defined(__AVX2__)
template <class Type>
void block_rows(const MatvecRows& a) {
  int64_t m = 0;
  for (; m + 8 <= a.x_rows; m += 8) block_rows_of<Type, RowSums<Type, 8>>(a, m, Rows<8>());
  if (m + 4 <= a.x_rows) block_rows_of<Type, RowSums<Type, 4>>(a, m, Rows<4>()), m += 4;
  if (m + 2 <= a.x_rows) block_rows_of<Type, RowSums<Type, 2>>(a, m, Rows<2>()), m += 2;
  if (m < a.x_rows) block_rows_of<Type, RowSums<Type, 1>>(a, m, Rows<1>());
}
#else
template <class Type>
constexpr auto* block_rows = plain_block_rows<Type>;
#endif

/// k_rows is the function for the K types. small_rows is the function for those types of
/// small_blocks.h that are also implemented with intrinsics.
#if defined(__AVX512VNNI__)
template <class Type>
constexpr auto* small_rows = block_rows<WeightColumns<Type>>;
template <class Type>
constexpr auto* k_rows = factored_rows<Factored<Type>>;
inline constexpr auto* kFactor = factor_groups;
#else
template <class Type>
constexpr auto* small_rows = unpacked_rows<Type>;
template <class Type>
constexpr auto* k_rows = block_rows<KBlocks<Type>>;
template <>
inline constexpr auto* k_rows<Q2_K> = small_rows<Q2_K>;
inline constexpr decltype(MatvecTable::factor) kFactor = nullptr;
#endif

}  // namespace
}  // namespace longhaul::LH_ISA
