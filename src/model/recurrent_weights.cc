#include "model/recurrent_weights.h"

#include <cmath>

namespace longhaul {

std::vector<float> convolution_weights(const std::string& tensor, int64_t kernel, int64_t channels,
                                       TensorFinder& tensors) {
  const std::vector<float> stored = tensors.numbers(tensor, kernel * channels);
  std::vector<float> weights;
  weights.reserve(stored.size());
  for (int64_t j = 0; j < kernel; ++j) {
    for (int64_t c = 0; c < channels; ++c) weights.push_back(nth(stored, c * kernel + j));
  }
  return weights;
}

namespace {

/// Multiplies the weights of the channels of x, B and C by their factors.
void scale_channels(const SsmShape& s, std::vector<float>& weights) {
  const int64_t inner = s.inner(), group = int64_t{s.groups} * s.state, width = s.channels();
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) % width;
    weights[i] *= channel < inner ? s.x_scale : channel < inner + group ? s.b_scale : s.c_scale;
  }
}

void load_ssm(CheckpointFormat format, const TensorNames& names, const ModelConfig& c, int layer,
              TensorFinder& tensors, LayerWeights& w) {
  const SsmShape& s = c.ssm;
  const auto name = [&](const char* role) { return of_layer(role, layer); };
  const std::string convolution = name(names.recurrent_convolution);
  w.recurrent_in = tensors.matrix(name(names.recurrent_in) + ".weight", s.projected(), c.hidden);
  w.convolution = convolution_weights(convolution + ".weight", s.kernel, s.channels(), tensors);
  scale_channels(s, w.convolution);
  if (s.convolution_bias) w.convolution_bias = tensors.vector(convolution + ".bias", s.channels());
  w.dt_bias = tensors.vector(name(names.delta_dt_bias), s.heads);
  w.rate = tensors.numbers(name(names.delta_rate), s.heads);
  if (format == CheckpointFormat::kHuggingFace) {  // stored as a logarithm
    for (float& rate : w.rate) rate = -std::exp(rate);
  }
  w.skip = tensors.numbers(name(names.recurrent_skip), s.heads);
  if (s.norm != SsmNorm::kNone) {
    w.recurrent_norm = tensors.numbers(name(names.delta_norm) + ".weight", s.inner());
  }
  w.recurrent_output =
      tensors.matrix(name(names.recurrent_output) + ".weight", c.hidden, s.inner());
}

}  // namespace

void load_recurrent(CheckpointFormat format, const TensorNames& names, const ModelConfig& c,
                    int layer, TensorFinder& tensors, LayerWeights& w) {
  if (!c.ssm.empty()) return load_ssm(format, names, c, layer, tensors, w);
  const GatedConvolutionShape& s = c.convolution;
  const auto name = [&](const char* role) { return of_layer(role, layer) + ".weight"; };
  w.recurrent_in = tensors.matrix(name(names.recurrent_in), 3 * int64_t{s.width}, c.hidden);
  w.convolution =
      convolution_weights(name(names.recurrent_convolution), s.kernel, s.width, tensors);
  w.recurrent_output = tensors.matrix(name(names.recurrent_output), c.hidden, s.width);
}

}  // namespace longhaul
