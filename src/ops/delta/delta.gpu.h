#pragma once
// Kernels of gated delta nets (ops/delta/delta_mix.h). Heads of 128 numbers with a convolution of 4
// rows are fast: one row of many sequences is one launch that reads and writes each state once, and
// many rows of a sequence are computed 64 at a time as products of bf16 matrices with f32 sums
// (Yang et al. 2024, arXiv:2412.06464, section 3.3). Other sizes are computed row by row in f32.

#include <cstdint>
#include <span>

#include "ops/core/gpu/stream.h"
#include "ops/delta/delta_shape.h"

namespace longhaul::cuda {

inline constexpr int kDeltaDim = 128, kDeltaTaps = 4, kDeltaChunk = 64;

/// DeltaShape as kernels read it.
struct DeltaSizes {
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, taps = 0;
  int shared = 0;  ///< value heads per key head
  bool tiled = false;
  int keys = 0, values = 0, channels = 0;
  int64_t history = 0;

  static DeltaSizes of(const DeltaShape& shape) {
    return {.key_heads = shape.key_heads,
            .value_heads = shape.value_heads,
            .key_dim = shape.key_dim,
            .value_dim = shape.value_dim,
            .taps = shape.kernel,
            .shared = shape.value_heads / shape.key_heads,
            .tiled = shape.tiled,
            .keys = static_cast<int>(shape.keys()),
            .values = static_cast<int>(shape.values()),
            .channels = static_cast<int>(shape.channels()),
            .history = shape.history()};
  }
  bool fast() const { return key_dim == kDeltaDim && value_dim == kDeltaDim && taps == kDeltaTaps; }
};

/// Addresses of DeltaInputs, from the first row of a call on, and of the output. All of them are
/// multiples of 16 bytes if the sizes are fast.
struct DeltaAddresses {
  const float *qkv, *gates, *beta, *alpha, *convolution, *dt_bias, *rate, *norm;
  float eps;
  float* out;

  DeltaAddresses from(const DeltaSizes& s, int64_t row) const {
    DeltaAddresses rest = *this;
    rest.qkv += row * s.channels;
    rest.gates += row * s.values;
    rest.beta += row * s.value_heads;
    rest.alpha += row * s.value_heads;
    rest.out += row * s.values;
    return rest;
  }
};

/// One row of a sequence. `before` and `after` do not overlap.
struct DeltaStep {
  int64_t row;
  const float* before;
  float* after;
};

/// Computes single rows of different sequences, for fast sizes. `early`: the states were complete
/// before the kernel that precedes the call.
void delta_steps(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                 std::span<const DeltaStep> steps, bool early);

/// Memory between the kernels of up to `rows` rows, for fast sizes. Matrices of a chunk and a value
/// head are [chunk, head, ...].
struct DeltaRoom {
  uint16_t* rows;   ///< [rows, channels] bf16: queries and keys of length 1, and values
  uint16_t* held;   ///< [64, 128] bf16: share of the state before the chunk in new values
  uint16_t* fresh;  ///< [64, 128] bf16: new values without that share
  uint16_t* pairs;  ///< [64, 64] bf16: shares of new values that rows see
  float* decay;     ///< [64]: logarithms of decays since the chunk began
  static DeltaRoom in(void* memory, const DeltaSizes& sizes, int64_t rows);
};

/// Convolves rows whose predecessors [taps - 1, channels] lie at `history`.
void delta_convolve(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                    const float* history, int64_t rows, uint16_t* y);
/// Fills `held`, `fresh`, `pairs` and `decay`.
void delta_chunks(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at, int64_t rows,
                  const DeltaRoom& room);
/// Computes the rows from these. `before` and `after` are states without the history.
void delta_scan(Stream stream, const DeltaSizes& sizes, const DeltaRoom& room, int64_t rows,
                const float* before, float* after, float* out);

/// For all sizes. `convolved` is [rows, channels]; `state` is the state without the history, in
/// place.
void delta_convolve(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                    const float* history, int64_t rows, float* convolved);
void delta_rows(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                const float* convolved, int64_t rows, float* state);

/// Writes the last taps - 1 rows of `before` and x [rows, channels] to `after`, which may be
/// `before`.
void delta_keep_history(Stream stream, const DeltaSizes& sizes, const float* x, int64_t rows,
                        const float* before, float* after);
/// The norm of heads with gates, in place in `at.out`.
void delta_norm(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at, int64_t rows);

void multiply_by_sigmoid(Stream stream, float* x, const float* gate, int64_t count);
void add_gated(Stream stream, float* y, const float* x, const float* gate, int64_t rows, int64_t n);

}  // namespace longhaul::cuda
