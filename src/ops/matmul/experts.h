#pragma once
// The feed-forward layer of a mixture of experts (Shazeer et al. 2017, arXiv:1701.06538). An expert
// is a network with or without a gate. A router assigns each row to a few of many experts and gives
// each a weight. The result of a row is the weighted sum of its experts' results. Only the matrices
// of assigned experts are read.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/core/ungated.h"
#include "ops/matmul/expert_choice.h"
#include "ops/matmul/linear.h"

namespace longhaul {

/// The matrices and biases of one expert. Biases may be empty. An expert without a gate has no gate
/// matrix.
struct ExpertWeights {
  TensorView gate, up;                    ///< [ffn, hidden]
  TensorView down;                        ///< [hidden, ffn]
  std::vector<float> gate_bias, up_bias;  ///< [ffn]
  std::vector<float> down_bias;           ///< [hidden]
};

/// The activation of experts: with a gate, or without one.
struct ExpertActivation {
  Gating gating;
  Ungated ungated = Ungated::kNone;  ///< not kXielu
};

/// Computes y[r] = sum over the experts e chosen for row r of weight(r, e) * down_e gated(gate_e
/// x[r], up_e x[r]), or of weight(r, e) * down_e f(up_e x[r]) for experts without a gate. With few
/// rows, the weights of each chosen expert are read once per row. With many rows, rows with the
/// same expert are gathered and multiplied together. An object reuses its memory between calls.
class ExpertMix {
 public:
  /// x and y are [rows, hidden], and chosen is [rows, used]. If `add` is true, the result is added
  /// to y. The result of a decode row (ops/matmul/linear.h) does not depend on the number of rows.
  void run(const float* x, int64_t rows, std::span<const ExpertWeights> experts,
           std::span<const ExpertChoice> chosen, const ExpertActivation& activation,
           Compute compute, float* y, bool add = false, RowKind kind = RowKind::kPrefill);

  /// Returns the bytes of memory used for `rows` rows, without the panels of linear().
  static size_t bytes_for(int64_t rows, int64_t used, int64_t hidden, int64_t ffn);

 private:
  // Both functions add their results to y.
  void run_row(const float* x, std::span<const ExpertWeights> experts,
               std::span<const ExpertChoice> chosen, const ExpertActivation& activation, float* y);
  void run_gathered(const float* x, int64_t rows, std::span<const ExpertWeights> experts,
                    std::span<const ExpertChoice> chosen, const ExpertActivation& activation,
                    Compute compute, float* y);

  /// Computes gate and up of some experts for one row, and their activation, into inner_.
  void run_inner(const float* x, std::span<const ExpertWeights> experts,
                 std::span<const ExpertChoice> chosen, const ExpertActivation& activation);

  Buffer<float> products_, inner_, results_, gathered_;
  ActivationRows activations_, inner_rows_;
  LinearInput input_, inner_input_;
  std::vector<MatvecJob> jobs_;
  std::vector<int64_t> begins_, order_;
};

}  // namespace longhaul
