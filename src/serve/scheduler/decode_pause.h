#pragma once
// Defines how decode steps of replies and the prefill of a long prompt share the computing time.
// While a long prompt is prefilled, the scheduler runs a decode step after each pause. During the
// pause, only the prompt is computed.

#include <algorithm>

namespace longhaul::serve {

/// The pause between two decode steps, in seconds. The real pause can be longer, because a decode
/// step starts only when the current layer of the prefill is complete.
///
/// The pause is ten times as long as a decode step, so that the prefill takes only 10 % longer than
/// without replies. The pause is at least `least`. It is at most `most`, or as long as a step if a
/// step is longer than `most`. In the latter case the prefill and the replies each get half of the
/// time. The gap between two tokens of a reply consists of a pause, the rest of a layer, and a
/// step:
///
///   step     pause     gap with short layers   time that the prefill takes longer
///   1 ms     20 ms     21 ms                   5 %
///   4 ms     40 ms     44 ms                   10 %
///   17 ms    170 ms    187 ms                  10 %
///   50 ms    200 ms    250 ms                  25 %
///   500 ms   500 ms    1 s                     100 %
///
/// If `least` and `most` are equal, this is the pause for steps of any length (`--token-interval
/// N`).
struct DecodePause {
  double least = 0.020, most = 0.200;

  double after(double step_seconds) const {
    if (least == most) return least;
    return std::clamp(10 * step_seconds, least, std::max(most, step_seconds));
  }
};

}  // namespace longhaul::serve
