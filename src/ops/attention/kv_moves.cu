// Moves rows within pages and between them: move_rows and move_columns of kv.h. A thread block
// moves a slice of each row, a few words wide, in waves. It reads a wave of rows, waits until all
// are in registers, and writes them. Rows move towards the front in ascending order, so a wave
// writes only where it or an earlier wave has read. Slices never overlap.

#include "base/assert.h"
#include "ops/attention/kv_pages.cuh"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/in_launches.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSliceWords = 4;
constexpr int kRowsAtOnce = kThreads / kSliceWords;
constexpr int kWave = 8;  // rows per thread

/// Number of slices in rows of keys and of values.
struct Slices {
  int keys, values;
};

template <class Word>
__global__ void __launch_bounds__(kThreads)
    move_rows_kernel(PageShape shape, const __grid_constant__ Records<RowMove> moves,
                     Slices slices) {
  await_turn();
  const RowMove& move = moves.each[blockIdx.y];
  const bool value = static_cast<int>(blockIdx.x) >= slices.keys;
  const int slice = static_cast<int>(blockIdx.x) - (value ? slices.keys : 0);
  const int word = slice * kSliceWords + threadIdx.x % kSliceWords;
  const int row_bytes = value ? shape.values.row_bytes : shape.keys.row_bytes;
  const bool mine = word * static_cast<int>(sizeof(Word)) < row_bytes;
  const int64_t count = move.chosen != nullptr ? *move.chosen : move.most;
  const int64_t step = static_cast<int64_t>(gridDim.z) * kRowsAtOnce * kWave;
  for (int64_t first = blockIdx.z * static_cast<int64_t>(kRowsAtOnce) * kWave; first < count;
       first += step) {
    Word words[kWave];
    unsigned moved = 0;  // a bit per row; the first rows of a list often stay
#pragma unroll
    for (int w = 0; w < kWave; ++w) {
      const int64_t i = first + w * kRowsAtOnce + threadIdx.x / kSliceWords;
      if (i >= count || !mine) continue;
      const int64_t row = move.rows != nullptr ? move.rows[i] : move.from_first + i;
      if (move.to == move.from && row == move.first + i) continue;
      moved |= 1u << w;
      words[w] = reinterpret_cast<const Word*>(shape.row(move.from, row, value))[word];
    }
    __syncthreads();
#pragma unroll
    for (int w = 0; w < kWave; ++w) {
      const int64_t i = first + w * kRowsAtOnce + threadIdx.x / kSliceWords;
      if ((moved >> w & 1) == 0) continue;
      reinterpret_cast<Word*>(shape.row(move.to, move.first + i, value))[word] = words[w];
    }
  }
}

constexpr int kColumnThreads = 1024;

__global__ void __launch_bounds__(kColumnThreads)
    move_columns_kernel(const __grid_constant__ Records<ColumnMove> moves) {
  await_turn();
  const ColumnMove& move = moves.each[blockIdx.x];
  const int64_t count = move.chosen != nullptr ? *move.chosen : move.most;
  for (int64_t first = 0; first < count; first += kColumnThreads * kWave) {
    uint32_t values[kWave];
#pragma unroll
    for (int w = 0; w < kWave; ++w) {
      const int64_t i = first + w * kColumnThreads + threadIdx.x;
      if (i >= count) continue;
      const int32_t row = move.rows[i];
      values[w] = row < move.listed ? move.from[row] : static_cast<uint32_t>(row + move.behind);
    }
    __syncthreads();
#pragma unroll
    for (int w = 0; w < kWave; ++w) {
      const int64_t i = first + w * kColumnThreads + threadIdx.x;
      if (i < count) move.to[move.first + i] = values[w];
    }
  }
  if (move.from != move.to) return;
  __syncthreads();
  for (int64_t i = move.first + count + threadIdx.x; i < move.listed; i += kColumnThreads) {
    move.to[i] = 0;
  }
}

template <class Word>
void move_as(Stream stream, const PageShape& shape, const Records<RowMove>& moves, unsigned count,
             bool apart) {
  constexpr int kSliceBytes = kSliceWords * static_cast<int>(sizeof(Word));
  const auto slices_of = [](int bytes) { return (bytes + kSliceBytes - 1) / kSliceBytes; };
  const Slices slices{slices_of(shape.keys.row_bytes),
                      shape.values_in_keys ? 0 : slices_of(shape.values.row_bytes)};
  const dim3 grid(static_cast<unsigned>(slices.keys + slices.values), count, apart ? 16u : 1u);
  launch_early(stream, "move_rows", move_rows_kernel<Word>, grid, kThreads, 0, shape, moves,
               slices);
}

}  // namespace

void move_rows(Stream stream, const KvForm& form, std::span<const RowMove> moves, bool apart) {
  LH_ASSERT(form.head_dim > 0 && form.page_rows > 0);
  const PageShape shape = shape_of(form);
  // The low bits of `both` give the common alignment.
  const int both = shape.keys.row_bytes | shape.values.row_bytes;
  in_launches(moves, "move_rows", [&](const Records<RowMove>& some, unsigned count) {
    if (both % 16 == 0) {
      move_as<uint4>(stream, shape, some, count, apart);
    } else if (both % 8 == 0) {
      move_as<uint2>(stream, shape, some, count, apart);
    } else if (both % 4 == 0) {
      move_as<uint32_t>(stream, shape, some, count, apart);
    } else {
      move_as<uint16_t>(stream, shape, some, count, apart);
    }
  });
}

void move_columns(Stream stream, std::span<const ColumnMove> moves) {
  in_launches(moves, "move_columns", [&](const Records<ColumnMove>& some, unsigned count) {
    launch_early(stream, "move_columns", move_columns_kernel, count, kColumnThreads, 0, some);
  });
}

}  // namespace longhaul::cuda
