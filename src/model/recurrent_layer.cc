#include "model/recurrent_layer.h"

#include "ops/ssm/short_convolution.h"
#include "ops/ssm/ssm_mix.h"

namespace longhaul {
void RecurrentLayer::project(LinearInput& input, const LayerWeights& w, const LowRank* adapter,
                             Compute compute) {
  projected_.resize(static_cast<size_t>(input.rows() * w.recurrent_in.rows()));
  linear(input, {.weight = w.recurrent_in, .y = projected_.data(), .low_rank = adapter}, compute);
}

void RecurrentLayer::mix(const LayerWeights& w, const ModelConfig& c,
                         std::span<const RecurrentTask> tasks, View<float> out) {
  const View<const float> projected = std::span<const float>(projected_.data(), projected_.size());
  if (c.ssm.empty()) {
    return gated_convolution(host_queue(), c.convolution, projected, std::span(w.convolution),
                             tasks, out, scratch_);
  }
  const SsmShape& s = c.ssm;
  const SsmInputs in = {.projected = projected,
                        .stride = s.projected(),
                        .steps = projected.from(s.inner() + s.channels()),
                        .step_stride = s.projected(),
                        .convolution = std::span(w.convolution),
                        .convolution_bias = std::span(w.convolution_bias),
                        .dt_bias = std::span(w.dt_bias),
                        .rate = std::span(w.rate),
                        .skip = std::span(w.skip),
                        .norm = std::span(w.recurrent_norm),
                        .eps = c.norm_eps};
  ssm_mix(host_queue(), s, in, tasks, out, scratch_);
}

size_t RecurrentLayer::row_bytes(const ModelConfig& c) {
  int64_t numbers = 0;
  if (!c.ssm.empty()) numbers = c.ssm.projected() + c.ssm.channels() + c.ssm.inner();
  if (!c.convolution.empty()) numbers = 6 * int64_t{c.convolution.width};
  return static_cast<size_t>(numbers) * sizeof(float);
}

}  // namespace longhaul
