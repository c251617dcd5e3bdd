#include "ops/delta/delta_mix.h"

#include <algorithm>

#include "base/on_device.h"
#include "ops/delta/delta_rule.h"

namespace longhaul {

void delta_mix(Queue& queue, const DeltaShape& shape, const DeltaInputs& in,
               std::span<const DeltaTask> tasks, View<float> out, Buffer<float>& convolved) {
  if (tasks.empty()) return;
  if (on_device(kDeltaMix, queue, shape, in, tasks, out)) return;
  HostStage on(queue);
  const auto here = [&](const auto& view) { return on(view).address(); };
  float* const all = here(out);
  const float *const qkv = here(in.qkv), *const gates = here(in.gates);
  const float *const beta = here(in.beta), *const alpha = here(in.alpha);
  for (const DeltaTask& task : tasks) {
    convolved.resize(static_cast<size_t>(task.rows * shape.channels()));
    float* const after = here(task.after);
    const float* const before = here(task.before);
    short_convolution(shape, qkv + task.first * shape.channels(), here(in.convolution), task.rows,
                      before, after, convolved.data());
    const int64_t at = task.first * shape.value_heads;
    const DeltaRows rows = {.rows = task.rows,
                            .qkv = convolved.data(),
                            .beta = beta + at,
                            .alpha = alpha + at,
                            .stride = shape.value_heads,
                            .dt_bias = here(in.dt_bias),
                            .rate = here(in.rate)};
    const int64_t first = task.first * shape.values();
    delta_rule(shape, rows, before, after, all + first);
    gated_norm(all + first, gates + first, shape.values(), here(in.norm), in.eps, task.rows,
               shape.value_heads, shape.value_dim);
  }
}

size_t delta_device_bytes(const DeltaShape& shape, int64_t rows) {
  if (shape.empty()) return 0;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  const int64_t some = (std::min(rows, kDeltaSegment) + 63) / 64 * 64;
  // Convolved rows; for a head and 64 rows: two matrices of values, one of pairs, and decays.
  const int64_t of_head = int64_t{shape.key_dim} + shape.value_dim + 64;
  const size_t products = n(some * shape.value_heads) * (n(of_head) * 2 + 2 * sizeof(float));
  return n(some * shape.channels()) * sizeof(float) + products;
}

}  // namespace longhaul
