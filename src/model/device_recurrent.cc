// Mamba-2 layers and gated short convolutions on a device: their weights and their steps.

#include "model/device_decoder.h"
#include "ops/ssm/short_convolution.h"
#include "ops/ssm/ssm_mix.h"

namespace longhaul {
namespace {

/// The part of an adapter that changes rows [first, first + count) of its matrix.
LowRank rows_of_adapter(const LowRank& adapter, int64_t first, int64_t count) {
  LowRank part;
  if (adapter.empty()) return part;
  part.a = adapter.a;
  part.b = adapter.b.slice_rows(first, count);
  part.scale = adapter.scale;
  return part;
}

}  // namespace

/// The rows of the input matrix that compute time steps become a matrix of their own. Their
/// products are computed at least in bf16, because a decay is exponential in its time step.
void DeviceModel::copy_recurrent(const LayerWeights& from, const LayerAdapters& adapters,
                                 DeviceLayer& to) {
  const SsmShape& s = model_.config.ssm;
  DeviceRecurrent& recurrent = to.recurrent;
  const auto rows_of_input = [&](int64_t first, int64_t count) {
    return weight(from.recurrent_in.slice_rows(first, count),
                  rows_of_adapter(adapters.recurrent_in, first, count));
  };
  if (s.empty()) {
    recurrent.in = weight(from.recurrent_in, adapters.recurrent_in);
  } else {
    const int64_t width = s.inner() + s.channels();
    recurrent.in = rows_of_input(0, width);
    recurrent.steps = rows_of_input(width, s.heads);
  }
  recurrent.output = weight(from.recurrent_output, adapters.recurrent_output);
  recurrent.convolution = numbers(from.convolution);
  recurrent.convolution_bias = numbers(from.convolution_bias);
  recurrent.dt_bias = numbers(from.dt_bias);
  recurrent.rate = numbers(from.rate);
  recurrent.skip = numbers(from.skip);
  recurrent.norm = numbers(from.recurrent_norm);
}

void Decoder::DeviceState::project_recurrent(int layer) {
  const ModelConfig& c = model().config;
  const SsmShape& s = c.ssm;
  if (!c.delta.empty()) return project_delta(layer);
  const DeviceRecurrent& w = weights->layer(layer).recurrent;
  if (s.empty()) {
    return multiply(*input, rows,
                    {{w.in, recurrent_rows.resize(queue, rows * 3 * c.convolution.width)}});
  }
  multiply(*input, rows,
           {{w.in, recurrent_rows.resize(queue, rows * (s.inner() + s.channels()))},
            {w.steps, time_steps.resize(queue, rows * s.heads), false, true}});
}

void Decoder::DeviceState::mix_recurrent(int layer, std::span<const RecurrentTask> tasks) {
  const ModelConfig& c = model().config;
  const SsmShape& s = c.ssm;
  if (!c.delta.empty()) return mix_delta(layer, tasks);
  const DeviceRecurrent& w = weights->layer(layer).recurrent;
  if (s.empty()) {
    return gated_convolution(queue, c.convolution, recurrent_rows.view(), w.convolution.view(),
                             tasks, mixed.view(), convolved);
  }
  const SsmInputs in = {.projected = recurrent_rows.view(),
                        .stride = s.inner() + s.channels(),
                        .steps = time_steps.view(),
                        .step_stride = s.heads,
                        .convolution = w.convolution.view(),
                        .convolution_bias = w.convolution_bias.view(),
                        .dt_bias = w.dt_bias.view(),
                        .rate = w.rate.view(),
                        .skip = w.skip.view(),
                        .norm = w.norm.view(),
                        .eps = c.norm_eps};
  ssm_mix(queue, s, in, tasks, mixed.view(), convolved);
}

}  // namespace longhaul
