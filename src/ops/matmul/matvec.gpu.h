#pragma once
// y = W x for 1 to 8 rows of x. Memory bandwidth sets the speed, so stored weights are read once
// for all rows. The arithmetic is that of ops/matmul/matvec.h. Block types multiply x rounded to
// int8 in blocks of 32, with exact integer products per block that are summed in f32. Plain types
// use f32 throughout. The shape fixes the order of additions, so results are reproducible bit for
// bit.

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

/// x [rows, cols] in device memory. Plain types read `x`, block types `int8`. A form that no matrix
/// reads may be missing.
struct MatvecInput {
  const void* x = nullptr;  ///< f32 or bf16
  bool bf16 = false;
  int64_t rows = 0, cols = 0;
  int64_t stride = 0;  ///< elements between rows; 0: cols
  Int8Rows int8;
  /// x is one row for which makes_row() is true. The product converts it to the form that it reads.
  /// If `norm` [cols] is set, it first normalises the row by its root mean square
  /// (ops/core/rms_norm.h). `norm` is read as early as weights are: the last queued kernel must not
  /// have written it.
  bool made = false;
  const float* norm = nullptr;
  float eps = 0;
};

/// Returns whether a product on the current device may convert its row itself. The values must be
/// aligned to 16 bytes. Together with the norm and the product's form they must leave shared memory
/// for two thread blocks per processor.
bool makes_row(int64_t rows, int64_t cols, const void* x, const void* norm);

struct MatvecJob {
  MatrixView weight;            ///< [outputs, cols]
  float* y = nullptr;           ///< [rows, outputs], rows y_stride elements apart
  int64_t y_stride = 0;         ///< 0: outputs
  const float* bias = nullptr;  ///< [outputs]; may be null
  bool add = false;             ///< y += instead of y =
};

/// Multiplies up to kMostMatvecJobs matrices by the same x, with one launch per type among them.
/// Weights are read before the last queued kernel has ended: it must not have written them.
void matvec(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs);

/// y [outputs] = gated(gate x, up x) of one row, without bias. Each warp reads a row of both
/// matrices. Returns false if the matrices differ in type or size, the type has no such kernel
/// (matvec_blocks.cuh), or shared memory cannot hold all columns of x at once.
struct GatedMatvec {
  MatrixView gate, up;
  Gating gating;
  float* y = nullptr;
};
bool gated_matvec(Stream stream, const MatvecInput& x, const GatedMatvec& job);

/// The products of matvec() for experts' matrices that are concatenated by rows, chosen by numbers
/// in device memory. Choice i of `count` multiplies row i / per_row of x by rows [outputs * expert,
/// ...) of a job's weight.
struct MatvecChoices {
  const ExpertChoice* chosen = nullptr;  ///< [count]
  int64_t count = 0, per_row = 1;
  int experts = 0;  ///< experts per weight: outputs = its rows / experts
  /// [count], in device memory: the order in which choices are computed, so that choices of one
  /// matrix find it in the cache. Null: as they are.
  const int32_t* order = nullptr;
};

/// y and bias of a job are [count, outputs] packed and [experts, outputs]. All previously queued
/// work ends before the first choice is read.
void matvec_chosen(Stream stream, const MatvecInput& x, const MatvecChoices& choices,
                   std::span<const MatvecJob> jobs);

}  // namespace longhaul::cuda
