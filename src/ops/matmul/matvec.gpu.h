#pragma once
// Computes y = W x for 1 to 8 rows of x. Memory bandwidth limits the speed, so the stored weights
// are read only once for all rows. The arithmetic is that of ops/matmul/matvec.h. With block types,
// x is rounded to int8 in blocks of 32. Integer products are exact within a block, and the blocks
// are summed in f32. Other types use f32 throughout. The order of additions depends only on the
// shape, so results are bitwise reproducible.

#include <cstdint>
#include <span>

#include "ops/core/gpu/stream.h"
#include "ops/core/swiglu.h"
#include "ops/matmul/expert_choice.h"
#include "ops/matmul/int8_rows.gpu.h"
#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

inline constexpr int64_t kMostMatvecRows = 8;
inline constexpr int kMostMatvecJobs = 8;

/// Rows x [rows, cols] in device memory. Weights of types without blocks are multiplied by `x`, and
/// those of block types by `int8`. An array that no weight needs may be null.
struct MatvecInput {
  const void* x = nullptr;  ///< f32 or bf16
  bool bf16 = false;
  int64_t rows = 0, cols = 0;
  int64_t stride = 0;  ///< elements between the beginnings of two rows; 0: cols
  Int8Rows int8;
  /// If true, x is a single row for which makes_row() is true. The matvec kernel then converts the
  /// row to the format that it multiplies. If `norm` [cols] is not null, RMS normalisation with
  /// this weight is applied first (ops/core/rms_norm.h). The kernel reads `norm` before the last
  /// queued kernel has ended, so that kernel must not write it.
  bool made = false;
  const float* norm = nullptr;
  float eps = 0;
};

/// Returns whether a matvec kernel on the current device may convert its row itself. The arrays x
/// and norm must be aligned to 16 bytes. The row, the norm and the kernel's other data must fit
/// into shared memory twice, so that each multiprocessor can run two thread blocks.
bool makes_row(int64_t rows, int64_t cols, const void* x, const void* norm);

struct MatvecJob {
  MatrixView weight;            ///< [outputs, cols]
  float* y = nullptr;           ///< [rows, outputs]; see y_stride
  int64_t y_stride = 0;         ///< floats between the beginnings of two rows; 0: outputs
  const float* bias = nullptr;  ///< [outputs]; may be null
  bool add = false;             ///< whether the product is added to y
};

/// Multiplies up to kMostMatvecJobs matrices by the same x, with one launch for each type of
/// weights. Weights are read before the last queued kernel has ended, so that kernel must not write
/// them.
void matvec(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs);

/// A product y [outputs] = gated(gate x, up x) of one row, without bias. Each warp reads one row of
/// both matrices. gated_matvec() returns false if the matrices differ in type or size, if the type
/// has no such kernel (matvec_blocks.cuh), or if shared memory cannot hold all of x at once.
struct GatedMatvec {
  MatrixView gate, up;
  Gating gating;
  float* y = nullptr;
};
bool gated_matvec(Stream stream, const MatvecInput& x, const GatedMatvec& job);

/// Choices of experts, in device memory. The matrices of all experts are concatenated by rows into
/// the weight of a job. Choice i multiplies row i / per_row of x by the matrix of its expert, whose
/// rows begin at row outputs * expert of the weight.
struct MatvecChoices {
  const ExpertChoice* chosen = nullptr;  ///< [count]
  int64_t count = 0, per_row = 1;
  /// Number of experts. The weight of a job has experts * outputs rows.
  int experts = 0;
  /// [count], in device memory: the order in which the choices are computed. If choices with the
  /// same matrix are adjacent, the matrix is found in the cache. If null, the choices are computed
  /// in their own order.
  const int32_t* order = nullptr;
};

/// Computes the products of all choices. In each job, y is a contiguous array [count, outputs], and
/// bias is [experts, outputs]. All previously queued work ends before the first choice is read.
void matvec_chosen(Stream stream, const MatvecInput& x, const MatvecChoices& choices,
                   std::span<const MatvecJob> jobs);

}  // namespace longhaul::cuda
