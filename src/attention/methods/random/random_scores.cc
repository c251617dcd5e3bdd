#include "attention/methods/random/random_scores.h"

#include "base/host_stage.h"
#include "base/random.h"

namespace longhaul {

void random_scores(Queue& queue, uint64_t seed, View<float> scores) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return random_scores(host_queue(), seed, on(scores));
  }
  float* const out = host(scores).data();
  const uint64_t start = SplitMix64::mixed(seed + 1);
  for (int64_t i = 0; i < scores.size(); ++i) {
    // 24 bits, because an f32 represents integers of up to 24 bits exactly.
    const uint64_t bits = SplitMix64::mixed(start + static_cast<uint64_t>(i)) >> 40;
    out[i] = static_cast<float>(bits) * 0x1p-24f;
  }
}

}  // namespace longhaul
