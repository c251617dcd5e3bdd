#pragma once
// Convolutions over the last few rows of each channel, which recurrent layers have before their
// state. On the host, except for gated_convolution() with a queue.

#include <cstdint>
#include <span>

#include "base/array.h"
#include "ops/ssm/recurrent_shapes.h"
#include "ops/ssm/recurrent_task.h"

namespace longhaul {

struct ShortConvolution {
  int64_t channels = 0;
  int kernel = 0;                 ///< number of rows that the convolution covers
  const float* weight = nullptr;  ///< [kernel, channels]
  const float* bias = nullptr;    ///< [channels]; null: no bias
  bool silu = true;               ///< whether silu is applied to the result
};

/// Computes y[r, c] = f(bias[c] + sum over j of weight[j, c] * x[r + j - kernel + 1, c]), where f
/// is silu or the identity. The rows before row 0 are in `before` [kernel - 1, channels]. Writes
/// the last kernel - 1 rows to `after`, which may be the same memory as `before`. Rows of x begin
/// `stride` floats apart. y is [rows, channels] and must not overlap x.
void short_convolution(const ShortConvolution& convolution, const float* x, int64_t stride,
                       int64_t rows, const float* before, float* after, float* y);

/// Computes out = b * convolution(a * x), where each row of `in` [rows, 3 * width] consists of a, b
/// and x. `weight` is [kernel, width], and `out` is [rows, width]. `before` and `after` are the
/// state before and after the rows. `scratch` has 2 * rows * width floats.
void gated_convolution(const GatedConvolutionShape& shape, const float* in, const float* weight,
                       int64_t rows, const float* before, float* after, float* out, float* scratch);

/// Like gated_convolution() above, for the rows of all tasks in their order, on the host or on a
/// device. `in` is [rows, 3 * width] and out is [rows, width]. `scratch` is memory on the host.
void gated_convolution(Queue& queue, const GatedConvolutionShape& shape, View<const float> in,
                       View<const float> weight, std::span<const RecurrentTask> tasks,
                       View<float> out, Buffer<float>& scratch);
inline const DeviceOperation<bool(const GatedConvolutionShape&, View<const float>,
                                  View<const float>, std::span<const RecurrentTask>, View<float>)>
    kGatedConvolution;

}  // namespace longhaul
