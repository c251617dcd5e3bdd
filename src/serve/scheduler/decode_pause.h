#pragma once
// The rule by which decode steps of replies and the prefill of a long prompt share the time.

#include <algorithm>

namespace longhaul::serve {

/// Limits in seconds of the pause between two decode steps while a prompt is prefilled. In the
/// pause only the prompt is computed, up to the end of the layer in which the pause ends.
///
/// The pause is ten times as long as a step, so that the prefill takes at most 10 % longer than
/// alone. It is at least `least`, and at most `most` or as long as a step where a step is longer
/// than that. A pause of the length of a step gives each side half of the time. The gap between two
/// tokens is a pause, the rest of a layer, and a step:
///
///   step     pause     gap with short layers   time that the prefill takes longer
///   1 ms     20 ms     21 ms                   5 %
///   4 ms     40 ms     44 ms                   10 %
///   17 ms    170 ms    187 ms                  10 %
///   50 ms    200 ms    250 ms                  25 %
///   500 ms   500 ms    1 s                     100 %
///
/// If both limits are equal, the pause does not depend on the step (`--token-interval N`).
struct DecodePause {
  double least = 0.020, most = 0.200;

  double after(double step_seconds) const {
    if (least == most) return least;
    return std::clamp(10 * step_seconds, least, std::max(most, step_seconds));
  }
};

}  // namespace longhaul::serve
