#pragma once
// Adam is the optimiser that trains the gates of DuoAttention.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace longhaul {

/// AdamW without weight decay (Kingma and Ba 2015, arXiv:1412.6980; Loshchilov and Hutter 2019,
/// arXiv:1711.05101). The results are equal to those of torch with its default settings: decay
/// rates 0.9 and 0.999 of the two running means, and epsilon 1e-8.
class Adam {
 public:
  explicit Adam(size_t count) : mean_(count), square_(count) {}
  Adam(std::vector<double> mean, std::vector<double> square, int64_t steps)
      : mean_(std::move(mean)), square_(std::move(square)), steps_(steps) {}

  /// Changes the parameters `x` by one step. `gradient` is the gradient of the loss with respect to
  /// x, and `rate` is the learning rate.
  void step(const std::vector<double>& gradient, double rate, std::vector<double>& x);

  // The following functions return the state of the optimiser, so that it can be saved.
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& square() const { return square_; }
  int64_t steps() const { return steps_; }

 private:
  std::vector<double> mean_, square_;
  int64_t steps_ = 0;
};

/// Returns the learning rate of step `step` (counted from 0) of `steps`, as a fraction of the
/// highest rate. The rate rises linearly during the first fifth of the steps, and falls linearly
/// during the last fifth. It is never below a tenth of the highest rate. DuoAttention uses this
/// schedule (section 3.1, with 2,000 steps).
double learning_rate_share(int64_t step, int64_t steps);

}  // namespace longhaul
