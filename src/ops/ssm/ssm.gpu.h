#pragma once
// Kernels of Mamba-2 layers (ops/ssm/ssm_mix.h) and of gated short convolutions
// (ops/ssm/short_convolution.h). A launch computes tasks of different sequences, with the states in
// registers. Few rows of a task are computed one after another in f32. Many rows are computed in
// chunks of 64, as products of bf16 matrices with f32 sums, if states have the usual size.

#include <cstdint>
#include <span>

#include "ops/core/gpu/stream.h"
#include "ops/ssm/recurrent_shapes.h"

namespace longhaul::cuda {

/// The smallest number of rows of a task that are computed in chunks.
inline constexpr int kLeastChunkedRows = 17;

/// RecurrentTask in the form of kernel arguments. Tasks of one launch must not depend on each
/// other.
struct RecurrentRows {
  int64_t first, rows;
  const float* before;
  float* after;
};

/// SsmShape in the form of kernel arguments.
struct SsmSizes {
  int heads = 0, head_dim = 0, state = 0, groups = 0, taps = 0;
  int heads_of_group = 0;
  int inner = 0, channels = 0;
  int64_t history = 0;
  float gate_scale = 1, step_scale = 1;
  SsmNorm norm = SsmNorm::kNone;

  static SsmSizes of(const SsmShape& shape) {
    return {.heads = shape.heads,
            .head_dim = shape.head_dim,
            .state = shape.state,
            .groups = shape.groups,
            .taps = shape.kernel,
            .heads_of_group = shape.heads / shape.groups,
            .inner = static_cast<int>(shape.inner()),
            .channels = static_cast<int>(shape.channels()),
            .history = shape.history(),
            .gate_scale = shape.gate_scale,
            .step_scale = shape.step_scale,
            .norm = shape.norm};
  }
};

/// Largest state size of ssm_scan(). Sizes of states are multiples of 4, and sizes of heads are
/// multiples of 8.
inline constexpr int kMostSsmState = 256;

/// Addresses of the arrays of SsmInputs and of the output.
struct SsmAddresses {
  const float* projected;
  int64_t stride;
  const float* steps;
  int64_t step_stride;
  const float *convolution, *convolution_bias, *dt_bias, *rate, *skip, *norm;
  float eps;
  float* out;
};

/// Applies the short convolution to the rows of the tasks, and writes convolved [rows, channels].
/// Writes the history of each state.
void ssm_convolve(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
                  std::span<const RecurrentRows> tasks, float* convolved);
void ssm_convolve(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
                  std::span<const RecurrentRows> tasks, uint16_t* convolved);
/// Computes the states and the output, without the gate. States are multiples of 16 bytes from
/// `before` and `after`, which are aligned to 16 bytes, as is `convolved`.
void ssm_scan(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
              std::span<const RecurrentRows> tasks, const float* convolved);
/// Returns whether ssm_chunks() supports the sizes on this card: states of 128 numbers for an
/// element, or of 256 on cards with 133 KB of shared memory for a thread block.
bool has_ssm_chunks(const SsmSizes& sizes);
/// Like ssm_scan(), with rows in bf16 and products of chunks.
void ssm_chunks(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
                std::span<const RecurrentRows> tasks, const uint16_t* convolved);
/// Gates and normalises output rows [first, first + rows), in place.
void ssm_gate(Stream stream, const SsmSizes& sizes, const SsmAddresses& at, int64_t first,
              int64_t rows);

/// Computes the gated short convolution of the rows of the tasks. `in` is [rows, 3 * width].
void gated_convolution(Stream stream, const GatedConvolutionShape& shape, const float* in,
                       const float* weight, std::span<const RecurrentRows> tasks, float* out);

}  // namespace longhaul::cuda
