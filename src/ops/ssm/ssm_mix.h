#pragma once
// The operations of a Mamba-2 layer between its input and output matrices: the short convolution,
// the state-space model, the gate and the norm, in f32. ssm_mix() processes the rows of one or more
// sequences, on the host or on a device. The other functions run on the host.

#include <cstddef>
#include <span>

#include "base/array.h"
#include "base/buffer.h"
#include "ops/ssm/recurrent_shapes.h"
#include "ops/ssm/recurrent_task.h"

namespace longhaul {

/// Rows of one sequence after the convolution, and their time steps.
struct SsmRows {
  int64_t rows = 0;
  const float* xbc = nullptr;      ///< [rows, channels], output of the convolution
  const float* steps = nullptr;    ///< [rows, heads]: time steps, as projected
  int64_t stride = 0;              ///< floats between the beginnings of two rows of `steps`
  const float* dt_bias = nullptr;  ///< [heads]; added to the time steps
  const float* rate = nullptr;     ///< [heads]: negative factors of the decay
  const float* skip = nullptr;     ///< [heads]: factors of x in the output
};

/// For every row and head, computes the time step dt = log(1 + e^(step_scale * step + dt_bias)).
/// Then updates the state S [state, head_dim] and computes the output: S = e^(rate * dt) S + dt B
/// x^T; out = S^T C + skip * x. Many rows are computed in groups of 64 with matrix products
/// (arXiv:2405.21060, section 6). `before` and `after` are [heads, state, head_dim] and may be the
/// same memory. out is [rows, inner].
void ssm_scan(const SsmShape& shape, const SsmRows& in, const float* before, float* after,
              float* out);

/// Gates and normalises y [rows, inner] in place, in the order that shape.norm specifies. Row r of
/// the gates z begins at z + r * stride. `weight` [inner] may be null if shape.norm is kNone.
void ssm_gate(const SsmShape& shape, float* y, const float* z, int64_t stride, const float* weight,
              float eps, int64_t rows);

/// The rows of all tasks and the weights of a layer.
struct SsmInputs {
  /// [rows]: z, x, B and C of each row. Rows are `stride` floats apart.
  View<const float> projected;
  int64_t stride = 0;
  View<const float> steps;  ///< [rows, heads], time steps; rows are `step_stride` floats apart
  int64_t step_stride = 0;
  View<const float> convolution;          ///< [kernel, channels]
  View<const float> convolution_bias;     ///< [channels]; empty: none
  View<const float> dt_bias, rate, skip;  ///< as in SsmRows
  View<const float> norm;                 ///< [inner]; empty: none
  float eps = 0;                          ///< epsilon of the norm
  bool lies_on(Place place) const {
    for (const View<const float>& each :
         {projected, steps, convolution, convolution_bias, dt_bias, rate, skip, norm}) {
      if (!each.empty() && each.place() != place) return false;
    }
    return true;
  }
};

/// Computes the rows of the tasks in their order, and writes them to out [rows, inner].
/// `convolved` is scratch memory on the host.
void ssm_mix(Queue& queue, const SsmShape& shape, const SsmInputs& in,
             std::span<const RecurrentTask> tasks, View<float> out, Buffer<float>& convolved);
inline const DeviceOperation<bool(const SsmShape&, const SsmInputs&, std::span<const RecurrentTask>,
                                  View<float>)>
    kSsmMix;

/// Returns the memory that a GPU needs for `rows` rows.
size_t ssm_device_bytes(const SsmShape& shape, int64_t rows);

}  // namespace longhaul
