// The GPU's operations of this folder.

#include "ops/core/best_logits.gpu.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/core/fill.h"
#include "ops/core/gpu/operations.gpu.h"
#include "ops/core/mean_rows.h"
#include "ops/core/score_vectors.gpu.h"

namespace longhaul::cuda {

void implement_core(GpuQueue& queue) {
  queue.implement(kFill, [](GpuQueue& on, View<float> x, float value) {
    fill(on.handle(), x.address(), x.size(), value);
  });
  queue.implement(kAddLists, [](GpuQueue& on, View<const float> x, View<float> out) {
    if (out.empty()) return false;
    add_lists(on.handle(), x.address(), x.size() / out.size(), out.size(), out.address());
    return true;
  });
  queue.implement(kMeanRows, [](GpuQueue& on, View<const float> x, View<float> out) {
    if (x.empty()) return false;
    mean_rows(on.handle(), x.address(), x.size() / out.size(), out.size(), out.address());
    return true;
  });
  queue.implement(kBestLogits,
                  [](GpuQueue& on, View<float> logits, std::span<const LogitRules> rules, int k,
                     std::span<BestLogit> best, std::span<LogitSums> sums) {
                    on.own<BestLogits>().run(logits, rules, k, best, sums);
                  });
}

}  // namespace longhaul::cuda
