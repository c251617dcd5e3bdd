#pragma once
// Sizes of layers that keep a state instead of keys and values: Mamba-2 layers (Dao and Gu 2024,
// arXiv:2405.21060) and gated short convolutions (LFM2, arXiv:2511.23404, section 2).

#include <cstdint>

namespace longhaul {

/// The order in which the output y of a Mamba-2 layer is gated by z and normalised.
enum class SsmNorm : uint8_t {
  kNone,        ///< y * silu(z)
  kAfterGate,   ///< norm(y * silu(z))
  kBeforeGate,  ///< norm(y) * silu(z)
};

struct SsmShape {
  int heads = 0;     ///< number of heads, each with its own state
  int head_dim = 0;  ///< elements of a head; a multiple of 16
  int state = 0;     ///< numbers that the state holds for each element of a head
  int groups = 0;    ///< groups of heads that have the same B and C, and are normalised together
  int kernel = 0;    ///< number of rows that the convolution covers
  bool convolution_bias = false;
  SsmNorm norm = SsmNorm::kAfterGate;
  float gate_scale = 1;  ///< factor of z
  float step_scale = 1;  ///< factor of the projected time steps
  /// Factors of x, B and C, which are already multiplied into the weights of the convolution.
  float x_scale = 1, b_scale = 1, c_scale = 1;

  bool empty() const { return heads == 0; }
  int64_t inner() const { return int64_t{heads} * head_dim; }
  /// Returns the number of channels of the convolution: those of x, B and C.
  int64_t channels() const { return inner() + 2 * int64_t{groups} * state; }
  /// Returns the width of a projected row: z, x, B, C and the time steps.
  int64_t projected() const { return inner() + channels() + heads; }
  /// history() and numbers() return numbers of floats. The state of a layer consists of a history
  /// and matrices. The history is the last rows before the convolution, [kernel - 1, channels].
  /// There is one matrix per head, [heads, state, head_dim].
  int64_t history() const { return int64_t{kernel - 1} * channels(); }
  int64_t numbers() const { return history() + inner() * state; }
};

/// Sizes of a gated short convolution.
struct GatedConvolutionShape {
  int width = 0;   ///< number of channels
  int kernel = 0;  ///< number of rows that the convolution covers

  bool empty() const { return width == 0; }
  /// Returns the number of floats in the state of a layer, which is the last input rows of the
  /// convolution, [kernel - 1, width].
  int64_t state() const { return int64_t{kernel - 1} * width; }
};

}  // namespace longhaul
