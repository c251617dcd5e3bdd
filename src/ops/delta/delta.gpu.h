#pragma once
// Kernels of gated delta nets (ops/delta/delta_mix.h). Sizes are called fast if all heads have 128
// elements and the convolution covers 4 rows. With fast sizes, one launch computes single rows of
// many sequences and reads and writes each state once. Many rows of one sequence are computed in
// chunks of 64 rows, as products of bf16 matrices with f32 sums (Yang et al. 2024,
// arXiv:2412.06464, section 3.3). With other sizes, rows are computed one after another in f32.

#include <cstdint>
#include <span>

#include "ops/core/gpu/stream.h"
#include "ops/delta/delta_shape.h"

namespace longhaul::cuda {

inline constexpr int kDeltaDim = 128, kDeltaTaps = 4, kDeltaChunk = 64;

/// The sizes of DeltaShape in the form of kernel arguments.
struct DeltaSizes {
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, taps = 0;
  int shared = 0;  ///< number of value heads per key head
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

/// Addresses of the arrays of DeltaInputs and of the output. They point to the first row of a call.
/// With fast sizes, all of them are multiples of 16 bytes.
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

/// One row of a sequence, with the addresses of the state before and after it. `before` and `after`
/// must not overlap.
struct DeltaStep {
  int64_t row;
  const float* before;
  float* after;
};

/// Computes one row for each of several sequences. The sizes must be fast. If `early` is true, the
/// states are read before the last queued kernel has ended, so that kernel must not write them.
void delta_steps(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                 std::span<const DeltaStep> steps, bool early);

/// Memory that passes results from one kernel to the next, for fast sizes. The new value of a row
/// is beta * (v - S^T k), where S is the state (delta_rule() in delta_rule.h). `rows` is one array
/// for all rows of a call. Each other array exists for every chunk and value head.
struct DeltaRoom {
  uint16_t* rows;   ///< [rows, channels] in bf16: queries and keys, both normalised to length 1,
                    ///< and values
  uint16_t* held;   ///< [64, 128] in bf16: the new values of the chunk are fresh - held * S, where
                    ///< S is the state before the chunk
  uint16_t* fresh;  ///< [64, 128] in bf16
  uint16_t* pairs;  ///< [64, 64] in bf16: entry (i, j) is the weight of the new value of row j in
                    ///< the output of row i
  float* decay;     ///< [64]: logarithm of the decay from the beginning of the chunk to each row
  static DeltaRoom in(void* memory, const DeltaSizes& sizes, int64_t rows);
};

/// Applies the short convolution to the rows and writes them to y (DeltaRoom::rows). `history` has
/// the rows before them, [taps - 1, channels].
void delta_convolve(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                    const float* history, int64_t rows, uint16_t* y);
/// Computes `held`, `fresh`, `pairs` and `decay` of `room` from its `rows`.
void delta_chunks(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at, int64_t rows,
                  const DeltaRoom& room);
/// Computes the output of the rows, and the state after them, from the contents of `room`. `before`
/// and `after` are the matrices of a state, without its history.
void delta_scan(Stream stream, const DeltaSizes& sizes, const DeltaRoom& room, int64_t rows,
                const float* before, float* after, float* out);

/// Like delta_convolve() above, but for all sizes, and with f32 output `convolved` [rows,
/// channels].
void delta_convolve(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                    const float* history, int64_t rows, float* convolved);
void delta_rows(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at,
                const float* convolved, int64_t rows, float* state);

/// Writes the last taps - 1 rows of the concatenation of `before` and x [rows, channels] to
/// `after`, which may be the same memory as `before`.
void delta_keep_history(Stream stream, const DeltaSizes& sizes, const float* x, int64_t rows,
                        const float* before, float* after);
/// Applies the gated normalisation (gated_norm() in delta_rule.h) to each head of `at.out`, in
/// place.
void delta_norm(Stream stream, const DeltaSizes& sizes, const DeltaAddresses& at, int64_t rows);

void multiply_by_sigmoid(Stream stream, float* x, const float* gate, int64_t count);
void add_gated(Stream stream, float* y, const float* x, const float* gate, int64_t rows, int64_t n);

}  // namespace longhaul::cuda
