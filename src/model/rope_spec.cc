#include "model/rope_spec.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace longhaul {
namespace {

std::vector<double> plain_frequencies(int rotary_dim, double base) {
  std::vector<double> f(static_cast<size_t>(rotary_dim / 2));
  for (size_t t = 0; t < f.size(); ++t) {
    f[t] = std::pow(base, -2.0 * static_cast<double>(t) / rotary_dim);
  }
  return f;
}

/// Divides the frequencies of long wavelengths by `factor`, keeps those of short ones, and
/// interpolates between them.
void scale_llama3(const RopeSpec& spec, std::vector<double>& frequencies) {
  const double original = static_cast<double>(spec.original_context);
  for (double& f : frequencies) {
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength < original / spec.high_freq_factor) continue;
    if (wavelength > original / spec.low_freq_factor) {
      f /= spec.factor;
      continue;
    }
    const double t = (original / wavelength - spec.low_freq_factor) /
                     (spec.high_freq_factor - spec.low_freq_factor);
    f = (1 - t) * f / spec.factor + t * f;
  }
}

/// Returns the index of the pair that makes `rotations` full turns over the original context
/// length.
double yarn_pair(const RopeSpec& spec, double rotations) {
  const double original = static_cast<double>(spec.original_context);
  return spec.rotary_dim * std::log(original / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(spec.base));
}

void scale_yarn(const RopeSpec& spec, RopeTable& table) {
  double first = yarn_pair(spec, spec.beta_fast), last = yarn_pair(spec, spec.beta_slow);
  if (spec.whole_pairs) first = std::floor(first), last = std::ceil(last);
  const double low = std::max(0.0, first), high = std::min(spec.rotary_dim - 1.0, last);
  const double width = high == low ? 0.001 : high - low;
  for (size_t t = 0; t < table.inverse_frequency.size(); ++t) {
    const double ramp = std::clamp((static_cast<double>(t) - low) / width, 0.0, 1.0);
    double& f = table.inverse_frequency[t];
    f = f * (1 - ramp) + f / spec.factor * ramp;
  }
  table.attention_factor = static_cast<float>(
      spec.attention_factor > 0 ? spec.attention_factor : yarn_magnitude(spec.factor));
}

void scale_longrope(const RopeSpec& spec, int64_t length, RopeTable& table) {
  const auto& divide = length > spec.original_context ? spec.long_factors : spec.short_factors;
  LH_ASSERT(divide.size() == table.inverse_frequency.size());
  for (size_t t = 0; t < divide.size(); ++t) {
    table.inverse_frequency[t] /= static_cast<double>(divide[t]);
  }
  const double own = spec.factor > 1
                         ? std::sqrt(1 + std::log(spec.factor) /
                                             std::log(static_cast<double>(spec.original_context)))
                         : 1.0;
  table.attention_factor =
      static_cast<float>(spec.attention_factor > 0 ? spec.attention_factor : own);
}

double dynamic_base(const RopeSpec& spec, int64_t length) {
  if (length <= spec.original_context) return spec.base;
  const double stretch =
      spec.factor * static_cast<double>(length) / static_cast<double>(spec.original_context) -
      (spec.factor - 1);
  return spec.base * std::pow(stretch, spec.rotary_dim / (spec.rotary_dim - 2.0));
}

}  // namespace

double yarn_magnitude(double factor, double mscale) {
  return factor > 1 ? 0.1 * mscale * std::log(factor) + 1 : 1.0;
}

bool RopeSpec::same_angles(int64_t one_length, int64_t other_length) const {
  const bool one_long = one_length > original_context;
  const bool other_long = other_length > original_context;
  switch (scaling) {
    case RopeScaling::kDynamic:
      return one_length == other_length || (!one_long && !other_long);
    case RopeScaling::kLongRope:
      return one_long == other_long;
    default:
      return true;
  }
}

RopeTable make_rope(const RopeSpec& spec, int64_t length) {
  RopeTable table;
  const double base =
      spec.scaling == RopeScaling::kDynamic ? dynamic_base(spec, length) : spec.base;
  table.inverse_frequency = plain_frequencies(spec.rotary_dim, base);
  if (spec.still) {
    std::fill(table.inverse_frequency.begin(), table.inverse_frequency.end(), 0.0);
    return table;
  }
  switch (spec.scaling) {
    case RopeScaling::kLinear:
      for (double& f : table.inverse_frequency) f /= spec.factor;
      break;
    case RopeScaling::kLlama3:
      scale_llama3(spec, table.inverse_frequency);
      break;
    case RopeScaling::kYarn:
      scale_yarn(spec, table);
      break;
    case RopeScaling::kLongRope:
      scale_longrope(spec, length, table);
      break;
    case RopeScaling::kNone:
    case RopeScaling::kDynamic:
      break;
  }
  table.attention_factor *= static_cast<float>(spec.attention_multiplier);
  for (size_t t = 0; t < spec.divisors.size() && t < table.inverse_frequency.size(); ++t) {
    table.inverse_frequency[t] /= static_cast<double>(spec.divisors[t]);
  }
  return table;
}

}  // namespace longhaul
