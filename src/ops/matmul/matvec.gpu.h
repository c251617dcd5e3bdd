#pragma once
// Computes y = W x for 1 to 8 rows of x. Memory bandwidth limits the speed, so stored weights are
// read once for all rows. The arithmetic is that of ops/matmul/matvec.h. With block types, x is
// rounded to int8 in blocks of 32; integer products are exact within a block and are summed in f32.
// Plain types use f32 throughout. The order of additions depends only on the shape, so results are
// bitwise reproducible.

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

/// Rows x [rows, cols] in device memory. Plain types read `x`, and block types read `int8`. An
/// array that no matrix reads may be missing.
struct MatvecInput {
  const void* x = nullptr;  ///< f32 or bf16
  bool bf16 = false;
  int64_t rows = 0, cols = 0;
  int64_t stride = 0;  ///< elements between rows; 0: cols
  Int8Rows int8;
  /// If true, x is one row for which makes_row() is true. The product then converts the row to the
  /// form that it reads. If `norm` [cols] is set, the row is first normalised by its root mean
  /// square (ops/core/rms_norm.h). `norm` is read before the last queued kernel has ended, so this
  /// kernel must not have written it.
  bool made = false;
  const float* norm = nullptr;
  float eps = 0;
};

/// Returns whether a product on the current device may convert its row itself. The values must be
/// aligned to 16 bytes. The row, the norm and the product's own data must fit in shared memory
/// twice, for two thread blocks per processor.
bool makes_row(int64_t rows, int64_t cols, const void* x, const void* norm);

struct MatvecJob {
  MatrixView weight;            ///< [outputs, cols]
  float* y = nullptr;           ///< [rows, outputs]; rows are y_stride elements apart
  int64_t y_stride = 0;         ///< floats between rows; 0: outputs
  const float* bias = nullptr;  ///< [outputs]; may be null
  bool add = false;             ///< whether the product is added to y
};

/// Multiplies up to kMostMatvecJobs matrices by the same x, with one launch per type. Weights are
/// read before the last queued kernel has ended, so this kernel must not have written them.
void matvec(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs);

/// The product y [outputs] = gated(gate x, up x) of one row, without bias. Each warp reads a row of
/// both matrices. gated_matvec() returns false if the matrices differ in type or size, if the type
/// has no such kernel (matvec_blocks.cuh), or if shared memory cannot hold all of x at once.
struct GatedMatvec {
  MatrixView gate, up;
  Gating gating;
  float* y = nullptr;
};
bool gated_matvec(Stream stream, const MatvecInput& x, const GatedMatvec& job);

/// Choices of experts, in device memory, for products with the matrices of the chosen experts. The
/// matrices of all experts are concatenated by rows into the weight of a job. Choice i multiplies
/// row i / per_row of x by the rows of its expert, which begin at outputs * expert.
struct MatvecChoices {
  const ExpertChoice* chosen = nullptr;  ///< [count]
  int64_t count = 0, per_row = 1;
  /// Number of experts. The number of outputs of an expert is the number of rows of the weight,
  /// divided by this number.
  int experts = 0;
  /// [count], in device memory: the order in which choices are computed. Choices of the same matrix
  /// can then find it in the cache. Null: the choices are computed in their own order.
  const int32_t* order = nullptr;
};

/// Computes the products of all choices. y of a job is [count, outputs], packed, and bias is
/// [experts, outputs]. All previously queued work ends before the first choice is read.
void matvec_chosen(Stream stream, const MatvecInput& x, const MatvecChoices& choices,
                   std::span<const MatvecJob> jobs);

}  // namespace longhaul::cuda
