#pragma once
// Computes y = x W^T for weights of any stored type. For decode rows (in any number), the stored
// weights are read directly (matvec.h). For many prefill rows, one panel of weights at a time is
// expanded: to tiles for the kernels of ops/matmul/panel_gemm.h, or to f32 for the GEMM library.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/parallel.h"
#include "base/tensor_view.h"
#include "ops/core/compute.h"
#include "ops/core/row_kind.h"
#include "ops/core/swiglu.h"
#include "ops/matmul/low_rank.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

struct PanelGemmKernels;
struct SwigluWeights;

/// Returns the kernels that multiply many rows by weights at the current instruction-set level.
/// Null means that the GEMM library computes the products in f32.
const PanelGemmKernels* panel_kernels(Compute compute);

/// Returns the name of the type of these products: "bf16", "int16", "int8", "f32" or "fp8".
const char* product_name(Compute compute);

/// Returns the bytes that a row of `cols` elements takes in LinearInput, in the format for products
/// of many rows.
size_t linear_input_bytes(int64_t cols, Compute compute);

/// Rows that are multiplied by several matrices. Other formats of the rows (tiles, int8 groups) are
/// computed once, when they are needed.
class LinearInput {
 public:
  /// Sets the kind of the rows that later calls of assign() and fill() provide. The kind stays
  /// until it is changed. linear_swiglu() passes it on to its `inner`.
  void set_row_kind(RowKind kind) { kind_ = kind; }
  RowKind row_kind() const { return kind_; }

  /// Sets the rows to x [rows, cols], which is f32 and packed. x must not move or change while this
  /// object is in use.
  void assign(const float* x, int64_t rows, int64_t cols);

  /// Sets rows that are computed by `fill_rows` and are kept only in the format that `compute`
  /// multiplies. fill_rows(begin, count, out) writes rows [begin, begin + count) to out [count,
  /// cols]. It is called in parallel for several ranges of rows.
  template <class Fill>
  void fill(int64_t rows, int64_t cols, Compute compute, Fill&& fill_rows);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  const float* f32() const { return f32_; }  ///< returns null if only tiles are kept
  /// Returns the rows as tiles [ceil(rows / 32) * 2, ceil(cols / depth)] in the format of `kernels`
  /// (ops/matmul/panel_gemm.h).
  const std::byte* tiles(const PanelGemmKernels& kernels);
  /// Returns the rows for matvec(): at most kMatvecMaxRows rows, or decode rows.
  ActivationRows& decode();

  /// Returns whether `rows` rows of this kind stay in f32 and are never packed to tiles. They are
  /// multiplied by matvec(), or by the GEMM library if exact products are requested.
  bool decode_rows(int64_t rows) const {
    return rows <= kMatvecMaxRows || kind_ == RowKind::kDecode;
  }

 private:
  friend void linear_swiglu(LinearInput& x, const SwigluWeights& weights, LinearInput& inner,
                            Compute compute);
  float* begin_f32(int64_t rows, int64_t cols);  ///< returns memory of this object for [rows, cols]
  std::byte* begin_tiles(int64_t rows, int64_t cols, const PanelGemmKernels& kernels);
  void pack(int64_t row_tile, const float* rows, int64_t count);

  const float* f32_ = nullptr;
  int64_t rows_ = 0, cols_ = 0;
  RowKind kind_ = RowKind::kPrefill;
  const PanelGemmKernels* form_ = nullptr;  ///< format of tiles_; null: there are no tiles yet
  Buffer<std::byte> tiles_;
  Buffer<float> own_;
  ActivationRows decode_;
};

struct LinearJob {
  TensorView weight;                  ///< [outputs, cols]
  float* y = nullptr;                 ///< [rows, outputs]; rows are y_stride floats apart
  int64_t y_stride = 0;               ///< floats between rows; 0: outputs
  const float* bias = nullptr;        ///< [outputs]; may be null
  bool add = false;                   ///< whether the product is added to y
  const LowRank* low_rank = nullptr;  ///< adapter whose product is added; may be null
};

/// Two matrices [ffn, cols] with their adapters and biases [ffn], which may be null, and the
/// function that combines their products.
struct SwigluWeights {
  const TensorView& gate;
  const TensorView& up;
  const LowRank* gate_low_rank = nullptr;
  const LowRank* up_low_rank = nullptr;
  const float* gate_bias = nullptr;
  const float* up_bias = nullptr;
  Gating gating = {};
};

void linear(LinearInput& x, std::span<const LinearJob> jobs, Compute compute);
void linear(LinearInput& x, const LinearJob& job, Compute compute);

/// Computes inner = gated(x gate^T, x up^T), in the format for the product with `down`. gated() is
/// silu(x gate^T) * (x up^T) or a similar function (ops/core/swiglu.h). If many rows are packed to
/// tiles, the two products are never written to memory.
void linear_swiglu(LinearInput& x, const SwigluWeights& weights, LinearInput& inner,
                   Compute compute);

/// Returns the bytes that all threads need for expanded panels of matrices with up to `most_cols`
/// columns, and for the sums of `rows` rows. The memory forecast includes them.
size_t linear_scratch_bytes(int64_t rows, int64_t most_cols, Compute compute);

/// Computes C[m, n] = A[m, k] B[n, k]^T in f32 through the GEMM library, on the calling thread. Row
/// i of C begins at c + i * c_stride.
void gemm_f32(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
              int64_t c_stride);

template <class Fill>
void LinearInput::fill(int64_t rows, int64_t cols, Compute compute, Fill&& fill_rows) {
  constexpr int64_t kStretch = 16;  // rows of a tile
  const PanelGemmKernels* kernels = panel_kernels(compute);
  if (decode_rows(rows) || kernels == nullptr) {
    float* x = begin_f32(rows, cols);
    parallel_ranges(rows, kStretch, [&](int64_t begin, int64_t end) {
      fill_rows(begin, end - begin, x + begin * cols);
    });
    return;
  }
  begin_tiles(rows, cols, *kernels);
  parallel_ranges((rows + 31) / 32 * 2, 1, [&](int64_t first, int64_t last) {
    thread_local Buffer<float> stretch;
    stretch.resize(static_cast<size_t>(kStretch * cols));
    for (int64_t tile = first; tile < last; ++tile) {
      const int64_t begin = tile * kStretch;
      const int64_t count = begin >= rows ? 0 : rows - begin < kStretch ? rows - begin : kStretch;
      if (count > 0) fill_rows(begin, count, stretch.data());
      pack(tile, stretch.data(), count);
    }
  });
}

}  // namespace longhaul
