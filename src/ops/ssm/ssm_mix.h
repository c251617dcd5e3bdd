#pragma once
// The operations of a Mamba-2 layer between its input and output matrices: the short convolution,
// the state-space model, the gate and the norm. On the host, in f32.

#include <span>

#include "base/buffer.h"
#include "ops/ssm/recurrent_shapes.h"
#include "ops/ssm/recurrent_task.h"

namespace longhaul {

/// Convolved rows and time steps of one sequence.
struct SsmRows {
  int64_t rows = 0;
  const float* xbc = nullptr;      ///< [rows, channels], output of the convolution
  const float* steps = nullptr;    ///< [rows, heads], as projected
  int64_t stride = 0;              ///< floats between the rows of `steps`
  const float* dt_bias = nullptr;  ///< [heads], added to the time steps
  const float* rate = nullptr;     ///< [heads], negative factors of the decay
  const float* skip = nullptr;     ///< [heads], factors of x in the output
};

/// For every row and head computes dt = log(1 + e^(step_scale * step + dt_bias)), S = e^(rate * dt)
/// S + dt B x^T and out = S^T C + skip * x. Many rows are computed in groups of 64 with matrix
/// products (arXiv:2405.21060, section 6). `before` and `after` are [heads, state, head_dim] and
/// may be the same memory. out is [rows, inner].
void ssm_scan(const SsmShape& shape, const SsmRows& in, const float* before, float* after,
              float* out);

/// Gates and normalises y [rows, inner] in place. Row r of the gates z begins at z + r * stride.
/// `weight` is [inner]; it may be null without a norm.
void ssm_gate(const SsmShape& shape, float* y, const float* z, int64_t stride, const float* weight,
              float eps, int64_t rows);

/// The weights of a layer and the rows of all tasks, packed.
struct SsmInputs {
  const float* projected = nullptr;                                  ///< [rows, projected]
  const float* convolution = nullptr;                                ///< [kernel, channels]
  const float* convolution_bias = nullptr;                           ///< [channels]; null: none
  const float *dt_bias = nullptr, *rate = nullptr, *skip = nullptr;  ///< as in SsmRows
  const float* norm = nullptr;                                       ///< [inner]; null: none
  float eps = 0;                                                     ///< epsilon of the norm
};

/// Computes the rows of the tasks in their order, and writes them to out [rows, inner].
/// `convolved` is scratch memory.
void ssm_mix(const SsmShape& shape, const SsmInputs& in, std::span<const RecurrentTask> tasks,
             float* out, Buffer<float>& convolved);

}  // namespace longhaul
