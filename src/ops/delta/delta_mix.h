#pragma once
// The operations of a gated delta net between its input and output matrices: the short convolution,
// the delta rule, and the gated normalisation of the output (ops/delta/delta_rule.h). They process
// the rows of one or more sequences, on the host or on a device.

#include <cstddef>
#include <span>

#include "base/array.h"
#include "ops/delta/delta_shape.h"
#include "ops/ssm/recurrent_task.h"

namespace longhaul {

/// The rows of one sequence. Its `before` and `after` have DeltaShape::state() floats.
using DeltaTask = RecurrentTask;

/// The rows of all tasks, one after another, and the weights of a layer.
struct DeltaInputs {
  View<const float> qkv;            ///< [rows, channels]: queries, keys and values, as projected
  View<const float> gates;          ///< [rows, values]: gates of the output, before silu
  View<const float> beta, alpha;    ///< [rows, value_heads], as in DeltaRows
  View<const float> convolution;    ///< [kernel, channels]
  View<const float> dt_bias, rate;  ///< [value_heads]
  View<const float> norm;           ///< [value_dim]
  float eps = 0;                    ///< epsilon of the normalisation
  bool lies_on(Place place) const {
    for (const View<const float>& each :
         {qkv, gates, beta, alpha, convolution, dt_bias, rate, norm}) {
      if (each.place() != place) return false;
    }
    return true;
  }
};

/// Computes the rows of the tasks, in the order of the tasks, and writes them to out [rows,
/// values]. `convolved` is scratch memory of the host version.
void delta_mix(Queue& queue, const DeltaShape& shape, const DeltaInputs& in,
               std::span<const DeltaTask> tasks, View<float> out, Buffer<float>& convolved);
inline const DeviceOperation<bool(const DeltaShape&, const DeltaInputs&, std::span<const DeltaTask>,
                                  View<float>)>
    kDeltaMix;

/// Number of rows that a GPU computes at a time. delta_device_bytes() returns the size in bytes of
/// the device memory that delta_mix() needs for `rows` rows.
inline constexpr int64_t kDeltaSegment = 2048;
size_t delta_device_bytes(const DeltaShape& shape, int64_t rows);

}  // namespace longhaul
