#pragma once
// Computes y = x W^T for weights of any stored type. Decode rows, and few prefill rows, are
// multiplied by the stored weights directly (matvec.h). For many prefill rows, one panel (range of
// outputs) of the weights at a time is converted: to tiles for the kernels of
// ops/matmul/panel_gemm.h, or to f32 for the GEMM library.

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
/// Returns null if there are none, and the GEMM library computes the products in f32.
const PanelGemmKernels* panel_kernels(Compute compute);

/// Returns the number format in which products of many rows are computed: "bf16", "int16", "int8",
/// "f32" or "fp8".
const char* product_name(Compute compute);

/// Returns the size in bytes of a row of `cols` elements in LinearInput, in the format that
/// products of many rows read.
size_t linear_input_bytes(int64_t cols, Compute compute);

/// Rows that are multiplied by several matrices. The rows are converted to other formats (tiles,
/// int8 groups) only once, when a product first needs a format.
class LinearInput {
 public:
  /// Sets the kind of the rows that later calls of assign() and fill() provide, until the kind is
  /// set again. linear_swiglu() sets the kind of its `inner` to the kind of x.
  void set_row_kind(RowKind kind) { kind_ = kind; }
  RowKind row_kind() const { return kind_; }

  /// Sets the rows to x [rows, cols], which is f32 and contiguous. x must not move or change while
  /// this object is in use.
  void assign(const float* x, int64_t rows, int64_t cols);

  /// Sets the rows to those that `fill_rows` computes. They are kept only in the format that
  /// products with precision `compute` read. fill_rows(begin, count, out) must write rows [begin,
  /// begin + count) to out [count, cols]. It is called in parallel for several ranges of rows.
  template <class Fill>
  void fill(int64_t rows, int64_t cols, Compute compute, Fill&& fill_rows);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  const float* f32() const { return f32_; }  ///< returns null if the rows are kept only as tiles
  /// Returns the rows as an array of tiles [ceil(rows / 32) * 2, ceil(cols / depth)] in the format
  /// of `kernels` (ops/matmul/panel_gemm.h).
  const std::byte* tiles(const PanelGemmKernels& kernels);
  /// Returns the rows as matvec() reads them. There must be at most kMatvecMaxRows rows, unless
  /// they are decode rows.
  ActivationRows& decode();

  /// Returns whether `rows` rows of the current kind stay in f32 and are never converted to tiles.
  /// They are multiplied by matvec(), or by the GEMM library if Compute::kF32 is requested.
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
  const PanelGemmKernels* form_ = nullptr;  ///< the kernels for which tiles_ was packed; null:
                                            ///< there are no tiles yet
  Buffer<std::byte> tiles_;
  Buffer<float> own_;
  ActivationRows decode_;
};

struct LinearJob {
  TensorView weight;                  ///< [outputs, cols]
  float* y = nullptr;                 ///< [rows, outputs]; see y_stride
  int64_t y_stride = 0;               ///< floats between the beginnings of two rows; 0: outputs
  const float* bias = nullptr;        ///< [outputs]; may be null
  bool add = false;                   ///< whether the product is added to y; only allowed in a call
                                      ///< with one job
  const LowRank* low_rank = nullptr;  ///< adapter of the weight, whose product is added to y; may
                                      ///< be null
};

/// The matrices `gate` and `up` [ffn, cols] of a feed-forward network, their adapters and biases
/// [ffn] (which may be null), and the function that combines the two products.
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

/// Computes inner = gated(x gate^T, x up^T), in the format that the product with `down` reads.
/// gated() is silu(x gate^T) * (x up^T) or a similar function (ops/core/swiglu.h). If there are
/// many rows, the two products are never written to memory.
void linear_swiglu(LinearInput& x, const SwigluWeights& weights, LinearInput& inner,
                   Compute compute);

/// Returns the size in bytes of the memory that all threads together need for converted panels of
/// matrices with up to `most_cols` columns, and for the sums of `rows` rows. The memory forecast
/// includes it.
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
