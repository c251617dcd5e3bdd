#pragma once
// Multiplies weights of block types by x in int8. Shared memory holds the code book (if the type
// has one) and the groups of 16 elements of x. A group consists of one 16-byte word and its factors
// (scale, scale * sum). The elements of x that group k of weight unit u multiplies are at index
// k * units + u, so that neighbouring lanes read neighbouring words.

#include "ops/matmul/made_row.cuh"
#include "ops/matmul/product_rows.cuh"

namespace longhaul::cuda {

template <class Units, class Form>
struct BlockMatvec {
  using Unit = typename Units::Unit;
  using Row = int64_t;  // first block of the weight row
  static constexpr int kGroups = Units::kGroups;
  static constexpr int kAhead = Form::kRows > 1
                                    ? 2
                                    : (sizeof(Unit) <= 24 ? 4 : (sizeof(Unit) <= 32 ? 3 : 2));

  void* shared;
  uint32_t* book;         // [kBook]
  Word4* q;               // [kRowsOfX][groups] int8 of x
  GroupFactors* f;        // [kRowsOfX][groups] factors of x
  int groups, per_group;  // numbers of groups, and of units, in a chunk of columns

  __device__ static BlockMatvec in(void* shared, int chunk_cols) {
    BlockMatvec s;
    s.shared = shared;
    s.groups = (chunk_cols + 255) / 256 * 16;
    s.per_group = s.groups / kGroups;
    s.book = static_cast<uint32_t*>(shared);
    s.q = reinterpret_cast<Word4*>(s.book + Units::kBook);
    s.f = reinterpret_cast<GroupFactors*>(s.q + Form::kRowsOfX * s.groups);
    return s;
  }

  __device__ __forceinline__ void begin(const MatvecArgs& a) const {
    if constexpr (Form::kMakesRow) {
      if (a.made_at > 0) MadeRow(a, shared).template begin<Form::kThreads>(a);
    }
  }

  __device__ __forceinline__ void make(const MatvecArgs& a) const {
    MadeRow(a, shared).template make<Form::kThreads>(a, [&](int i, float4 v, bool present) {
      const RoundedFour four = round_four(v);
      if (!present) return;
      const int at = slot(i / 4);
      q[at].w[i % 4] = four.q;
      if (i % 4 == 0) f[at] = four.group;
    });
  }

  __device__ void stage(const MatvecArgs& a, int first, int cols) const {
    for (int i = 4 * threadIdx.x; i < Units::kBook; i += 4 * Form::kThreads) {
      begin_copy(book + i, a.jobs[0].planes.book + i, true);
    }
    if constexpr (Form::kMakesRow) {
      if (a.made_at > 0) return make(a);
    }
    const int some = cols / 16;
#pragma unroll
    for (int m = 0; m < Form::kRowsOfX; ++m) {
      const int row = first_row_of_x<Form>(a) + m;
      const bool present = row < a.x_rows;  // missing rows become zeros
      const int64_t from = (present ? row * a.int8.groups : 0) + first / 16;
#pragma unroll 4
      for (int g = threadIdx.x; g < some; g += Form::kThreads) {
        const int at = m * groups + slot(g);
        begin_copy(q + at, a.int8.q + from + g, present);
        const float2 two = __ldcg(reinterpret_cast<const float2*>(a.int8.factors + from + g));
        f[at] = {present ? two.x : 0, present ? two.y : 0};
      }
    }
    finish_copies();
  }

  /// Returns the index in shared memory of group `g` of a chunk of x.
  __device__ int slot(int g) const {
    constexpr int kPerBlock = Units::kBlock / 16;
    const GroupPlace place = Units::place(g % kPerBlock);
    return place.k * per_group + g / kPerBlock * Units::kUnits + place.u;
  }

  __device__ static int units(int cols) { return cols / Units::kBlock * Units::kUnits; }
  __device__ static Row row_of(const MatvecArgs& a, const MatvecArgs::Job&, int64_t row,
                               int first) {
    return row * (a.cols / Units::kBlock) + first / Units::kBlock;
  }
  __device__ static Unit load(const Planes& planes, Row row, int u) {
    return Units::load(planes, row + u / Units::kUnits, u % Units::kUnits);
  }

  __device__ __forceinline__ void add(const Unit (&loaded)[Form::kRows], int u,
                                      float (&sums)[Form::kRows][Form::kRowsOfX]) const {
#pragma unroll
    for (int k = 0; k < kGroups; ++k) {
      Weights16 w[Form::kRows];
#pragma unroll
      for (int r = 0; r < Form::kRows; ++r) {
        w[r] = weights_of<Units>(loaded[r], u % Units::kUnits, k, book);
      }
#pragma unroll
      for (int m = 0; m < Form::kRowsOfX; ++m) {
        const int at = m * groups + k * per_group + u;
        const Word4 x = q[at];
        const GroupFactors factors = f[at];
#pragma unroll
        for (int r = 0; r < Form::kRows; ++r) {
          sums[r][m] = group_product<Units>(w[r], x, factors.scale, factors.sum, sums[r][m]);
        }
      }
    }
  }
};

template <class Units, class Form>
__global__ void __launch_bounds__(Form::kThreads, Form::kLeastBlocks)
    block_matvec_kernel(__grid_constant__ const MatvecArgs a, int batches) {
  extern __shared__ uint4 shared[];
  walk_rows<Form>(a, batches, BlockMatvec<Units, Form>::in(shared, a.chunk_cols));
}

/// Whether the type has a gated kernel, which holds a unit of each of two rows in registers. For
/// other types, such a kernel would spill 4 to 320 bytes of registers, and would be slower than two
/// products followed by the activation.
template <class Units>
inline constexpr bool kGates = Units::kBlock <= 32;

/// Returns the kernel for a type of the list. Returns an empty result if the list does not contain
/// the type.
template <class List>
MatvecLaunch launch_among(List list, DType type, const MatvecWanted& wanted) {
  MatvecLaunch launch{};
  with_one_of(list, type, [&](auto units) {
    using Units = decltype(units);
    launch = with_form(wanted, [](auto form) -> MatvecLaunch {
      using Form = decltype(form);
      if constexpr (Form::kGated && !kGates<Units>) {
        return {};
      } else {
        return {block_matvec_kernel<Units, Form>, Form::kThreads, Form::kBatch,
                size_t{Form::kRowsOfX} * 16 * 24, Units::kBook * sizeof(uint32_t)};
      }
    });
  });
  return launch;
}

}  // namespace longhaul::cuda
