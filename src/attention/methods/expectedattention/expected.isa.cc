// CPU kernels of Expected Attention: sums of query rows and of their outer products, and logits
// that are quadratic in the keys.

#include "attention/methods/expectedattention/expected_kernels.h"
#include "ops/attention/pack_block.h"
#include "ops/core/tile_gemm.h"

namespace longhaul::LH_ISA {
namespace {

struct MomentScratch {
  float* rows;      ///< [kMomentRows, dim]: query rows minus the origin
  float* columns;   ///< [dim, kMomentRows]: transpose of `rows`
  float* products;  ///< [dim, dim]: sum of the outer products of `rows`

  MomentScratch(ScratchLayout& layout, int dim) {
    const auto size = static_cast<size_t>(dim);
    layout.take(rows, kMomentRows * size);
    layout.take(columns, kMomentRows * size);
    layout.take(products, size * size);
  }
};

size_t moments_scratch_bytes(int head_dim) {
  return bytes_of<MomentScratch>(round_up(head_dim, 32));
}

/// Adds query rows [begin, begin + count) of a unit to its sums.
void add_block(const MomentUnit& unit, int64_t begin, int count, int dim, const MomentScratch& s) {
  for (int t = 0; t < unit.head_dim; ++t) {
    float sum = 0.0f;
    for (int r = 0; r < count; ++r) {
      const float x = unit.q[(begin + r) * unit.stride + t] - unit.origin[t];
      s.rows[r * dim + t] = s.columns[t * kMomentRows + r] = x;
      sum += x;
    }
    unit.sums[t] += double{sum};
  }
  if (unit.products == nullptr) return;
  GemmF32::run(unit.head_dim, dim, count, s.columns, kMomentRows, s.rows, dim, s.products, dim,
               false);
  for (int i = 0; i < unit.head_dim; ++i) {
    double* const to = unit.products + static_cast<int64_t>(i) * unit.head_dim;
    for (int j = 0; j < unit.head_dim; ++j) to[j] += double{s.products[i * dim + j]};
  }
}

void add_moments(const MomentUnit& unit, std::byte* scratch) {
  const int dim = round_up(unit.head_dim, 32);
  ScratchLayout layout(scratch);
  const MomentScratch s(layout, dim);
  // Columns from head_dim on remain zero.
  for (int i = 0; i < kMomentRows * dim; ++i) s.rows[i] = 0.0f;
  for (int64_t begin = 0; begin < unit.rows; begin += kMomentRows) {
    const int64_t left = unit.rows - begin;
    add_block(unit, begin, left < kMomentRows ? static_cast<int>(left) : kMomentRows, dim, s);
  }
}

size_t logits_scratch_bytes(int head_dim) {
  return bytes_of<TileScratch<float>>(head_dim, TileCounts{0, 1, 1});
}

/// Computes out[j] = sum over t of keys[t, j] * (linear[t] + (quadratic keys)[t, j]) for every key
/// j. Keys are transposed, and 32 elements t are processed at a time.
void head_logits(const float* linear, const float* quadratic, int dim, int padded_keys,
                 const TileScratch<float>& s, float* out) {
  for (int j = 0; j < padded_keys; ++j) out[j] = 0.0f;
  for (int first = 0; first < dim; first += kTileRows) {
    if (quadratic != nullptr) {  // entries right of the diagonal are zero
      GemmF32::run(kTileRows, padded_keys, first + kTileRows,
                   quadratic + static_cast<int64_t>(first) * dim, dim, s.keys, kTileKeys, s.scores,
                   kTileKeys, false);
    }
    for (int r = 0; r < kTileRows; ++r) {
      const float* keys = s.keys + static_cast<int64_t>(first + r) * kTileKeys;
      const Vec mean = splat(linear[first + r]);
      for (int j = 0; j < padded_keys; j += kLanes) {
        const Vec term = quadratic == nullptr ? mean : mean + load(s.scores + r * kTileKeys + j);
        store(out + j, fma(load(keys + j), term, load(out + j)));
      }
    }
  }
}

void logits(const LogitUnit& unit, std::byte* scratch) {
  const int dim = round_up(unit.rows->head_dim, 32);
  ScratchLayout layout(scratch);
  const TileScratch<float> s(layout, unit.rows->head_dim, TileCounts{0, 1, 1});
  KeySegment segment;
  segment.rows = *unit.rows;
  segment.begin = unit.begin;
  segment.count = unit.count;
  const KeyBlock block = block_from(segment, nullptr, 0, unit.count, dim);
  pack(block, s.keys, nullptr, s.unpacked_rows);
  alignas(64) float out[kTileKeys];
  for (int h = 0; h < unit.heads; ++h) {
    const float* quadratic =
        unit.quadratic == nullptr ? nullptr : unit.quadratic + static_cast<int64_t>(h) * dim * dim;
    head_logits(unit.linear + static_cast<int64_t>(h) * dim, quadratic, dim, block.padded_keys, s,
                out);
    std::memcpy(unit.logits + h * unit.stride, out,
                sizeof(float) * static_cast<size_t>(unit.count));
  }
}

void value_lengths(const PagedRows& rows, int64_t begin, int64_t count, float* out) {
  const StoredRows values = values_of(rows);
  float row[kMostHeadDim];
  for (int64_t i = 0; i < count; ++i) {
    load_row(values, values.at(begin + i), row);
    out[i] = __builtin_sqrtf(dot(row, row, rows.head_dim));
  }
}

}  // namespace

extern const ExpectedKernels kExpectedKernels = {moments_scratch_bytes, add_moments,
                                                 logits_scratch_bytes, logits, value_lengths};

}  // namespace longhaul::LH_ISA
