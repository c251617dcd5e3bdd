#pragma once
// The optimiser for gates.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace longhaul {

/// AdamW without weight decay (Kingma and Ba 2015, arXiv:1412.6980; Loshchilov and Hutter 2019,
/// arXiv:1711.05101), as torch computes it: decay of the means 0.9 and 0.999, epsilon 1e-8.
class Adam {
 public:
  explicit Adam(size_t count) : mean_(count), square_(count) {}
  Adam(std::vector<double> mean, std::vector<double> square, int64_t steps)
      : mean_(std::move(mean)), square_(std::move(square)), steps_(steps) {}

  void step(const std::vector<double>& gradient, double rate, std::vector<double>& x);

  // State for saving and restoring.
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& square() const { return square_; }
  int64_t steps() const { return steps_; }

 private:
  std::vector<double> mean_, square_;
  int64_t steps_ = 0;
};

/// Fraction of the highest learning rate in step `step` (from 0) of `steps`: a linear rise over the
/// first fifth and a linear fall over the last, never below a tenth (DuoAttention, section 3.1:
/// 2,000 steps).
double learning_rate_share(int64_t step, int64_t steps);

}  // namespace longhaul
