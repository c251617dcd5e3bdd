#pragma once
// y = W x for 1 to 8 rows of x, where the memory's bandwidth sets the speed: stored weights are
// read once for all rows. The arithmetic of ops/matmul/matvec.h: block types meet x rounded to int8
// in blocks of 32, in exact integer products whose blocks are added up in f32; plain types are f32
// throughout. The order of additions is fixed by the shape: the same call gives the same bits.

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

/// x [rows, cols] in device memory. Plain types read `x`, block types `int8`: the form that no
/// matrix reads may be missing.
struct MatvecInput {
  const void* x = nullptr;  ///< f32 or bf16
  bool bf16 = false;
  int64_t rows = 0, cols = 0;
  int64_t stride = 0;  ///< elements between rows; 0: cols
  Int8Rows int8;
  /// x is one row that makes_row() takes, of which the product makes the form that it reads;
  /// normalised by its root mean square (ops/core/rms_norm.h) first, where `norm` [cols] is there.
  /// That is read as weights are: the kernel that was queued last must not be what wrote it.
  bool made = false;
  const float* norm = nullptr;
  float eps = 0;
};

/// Whether a product of the current device may make its row itself: numbers at multiples of 16
/// bytes which, with those of the norm and whatever form the product needs, leave a processor's
/// shared memory room for two blocks.
bool makes_row(int64_t rows, int64_t cols, const void* x, const void* norm);

struct MatvecJob {
  MatrixView weight;            ///< [outputs, cols]
  float* y = nullptr;           ///< [rows, outputs], rows y_stride apart
  int64_t y_stride = 0;         ///< 0: outputs
  const float* bias = nullptr;  ///< [outputs]; may be null
  bool add = false;             ///< y += instead of y =
};

/// Up to kMostMatvecJobs matrices that read the same x: one launch for each type among them.
/// Weights are read before the kernel that was queued last has ended: it must not be what wrote
/// them.
void matvec(Stream stream, const MatvecInput& x, std::span<const MatvecJob> jobs);

/// y [outputs] = gated(gate x, up x) of one row, without bias: each warp reads a row of both. False
/// where the two are not of one type and size, the type has no such kernel (matvec_blocks.cuh), or
/// shared memory does not hold all columns of x at once.
struct GatedMatvec {
  MatrixView gate, up;
  Gating gating;
  float* y = nullptr;
};
bool gated_matvec(Stream stream, const MatvecInput& x, const GatedMatvec& job);

/// The products of matvec() of matrices that lie one below the other, of which a choice in device
/// memory names one: for each of `count` choices i the product of row i / per_row of x, of as many
/// as there are, with rows [outputs * expert, ...) of a job's weight, whose own rows are all of
/// them.
struct MatvecChoices {
  const ExpertChoice* chosen = nullptr;  ///< [count]
  int64_t count = 0, per_row = 1;
  int experts = 0;  ///< that a weight holds: outputs = its rows / experts
  /// [count], in device memory: choices in the order in which they shall be computed, so that those
  /// of one matrix find it in the cache. Null: their own.
  const int32_t* order = nullptr;
};

/// y and bias of a job are [count, outputs] packed and [experts, outputs]. Whatever was queued
/// before has ended when the first choice is read.
void matvec_chosen(Stream stream, const MatvecInput& x, const MatvecChoices& choices,
                   std::span<const MatvecJob> jobs);

}  // namespace longhaul::cuda
