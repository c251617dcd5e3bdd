#include "model/recurrent_layer.h"

#include "ops/ssm/short_convolution.h"
#include "ops/ssm/ssm_mix.h"

namespace longhaul {
namespace {

const float* numbers_or_null(const std::vector<float>& numbers) {
  return numbers.empty() ? nullptr : numbers.data();
}

}  // namespace

void RecurrentLayer::project(LinearInput& input, const LayerWeights& w, const LowRank* adapter,
                             Compute compute) {
  projected_.resize(static_cast<size_t>(input.rows() * w.recurrent_in.rows()));
  linear(input, {.weight = w.recurrent_in, .y = projected_.data(), .low_rank = adapter}, compute);
}

void RecurrentLayer::mix(const LayerWeights& w, const ModelConfig& c,
                         std::span<const RecurrentTask> tasks, float* out) {
  if (!c.ssm.empty()) {
    const SsmInputs in = {.projected = projected_.data(),
                          .convolution = w.convolution.data(),
                          .convolution_bias = numbers_or_null(w.convolution_bias),
                          .dt_bias = w.dt_bias.data(),
                          .rate = w.rate.data(),
                          .skip = w.skip.data(),
                          .norm = numbers_or_null(w.recurrent_norm),
                          .eps = c.norm_eps};
    return ssm_mix(c.ssm, in, tasks, out, scratch_);
  }
  const int64_t width = c.convolution.width;
  for (const RecurrentTask& task : tasks) {
    scratch_.resize(static_cast<size_t>(2 * task.rows * width));
    gated_convolution(c.convolution, projected_.data() + 3 * task.first * width,
                      w.convolution.data(), task.rows, task.before.address(), task.after.address(),
                      out + task.first * width, scratch_.data());
  }
}

size_t RecurrentLayer::row_bytes(const ModelConfig& c) {
  int64_t numbers = 0;
  if (!c.ssm.empty()) numbers = c.ssm.projected() + c.ssm.channels() + c.ssm.inner();
  if (!c.convolution.empty()) numbers = 6 * int64_t{c.convolution.width};
  return static_cast<size_t>(numbers) * sizeof(float);
}

}  // namespace longhaul
