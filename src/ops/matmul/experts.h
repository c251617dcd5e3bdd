#pragma once
// The feed-forward layer of a mixture of experts (Shazeer et al. 2017, arXiv:1701.06538). An expert
// is a feed-forward network, with or without a gate. A router chooses a few of many experts for
// each row, and a weight for each of them. The output of a row is the weighted sum of its experts'
// outputs. Only the matrices of chosen experts are read.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/core/ungated.h"
#include "ops/matmul/expert_choice.h"
#include "ops/matmul/linear.h"

namespace longhaul {

/// The matrices and biases of one expert. Biases may be empty. An expert without a gate has an
/// empty `gate`.
struct ExpertWeights {
  TensorView gate, up;                    ///< [ffn, hidden]
  TensorView down;                        ///< [hidden, ffn]
  std::vector<float> gate_bias, up_bias;  ///< [ffn]
  std::vector<float> down_bias;           ///< [hidden]
};

/// The activation function of the experts, with or without a gate.
struct ExpertActivation {
  Gating gating;
  Ungated ungated = Ungated::kNone;  ///< activation function of experts without a gate; kNone if
                                     ///< they have a gate; kXielu is not supported
};

/// Computes y[r] = sum over the experts e chosen for row r of weight(r, e) * down_e gated(gate_e
/// x[r], up_e x[r]). For experts without a gate, the summands are weight(r, e) * down_e f(up_e
/// x[r]). With few rows, the weights of each chosen expert are read once per row. With many rows,
/// the rows of each expert are gathered and multiplied together. An object reuses its memory
/// between calls.
class ExpertMix {
 public:
  /// x and y are [rows, hidden], and `chosen` is [rows, used]. If `add` is true, the output is
  /// added to y. The output of a decode row (ops/matmul/linear.h) does not depend on the number of
  /// rows.
  void run(const float* x, int64_t rows, std::span<const ExpertWeights> experts,
           std::span<const ExpertChoice> chosen, const ExpertActivation& activation,
           Compute compute, float* y, bool add = false, RowKind kind = RowKind::kPrefill);

  /// Returns the size in bytes of the memory for `rows` rows, without the panels of linear().
  static size_t bytes_for(int64_t rows, int64_t used, int64_t hidden, int64_t ffn);

 private:
  // run_row() and run_gathered() add the outputs to y.
  void run_row(const float* x, std::span<const ExpertWeights> experts,
               std::span<const ExpertChoice> chosen, const ExpertActivation& activation, float* y);
  void run_gathered(const float* x, int64_t rows, std::span<const ExpertWeights> experts,
                    std::span<const ExpertChoice> chosen, const ExpertActivation& activation,
                    Compute compute, float* y);

  /// Computes the products with gate and up for one row and all its experts, applies the
  /// activation, and writes the results to inner_.
  void run_inner(const float* x, std::span<const ExpertWeights> experts,
                 std::span<const ExpertChoice> chosen, const ExpertActivation& activation);

  Buffer<float> products_, inner_, results_, gathered_;
  ActivationRows activations_, inner_rows_;
  LinearInput input_, inner_input_;
  std::vector<MatvecJob> jobs_;
  std::vector<int64_t> begins_, order_;
};

}  // namespace longhaul
