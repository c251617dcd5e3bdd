// The GPU's operations of this folder.

#include <vector>

#include "ops/core/best_logits.gpu.h"
#include "ops/core/columns.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/core/few_families.gpu.h"
#include "ops/core/fill.h"
#include "ops/core/gpu/gpu_side_copies.gpu.h"
#include "ops/core/gpu/operations.gpu.h"
#include "ops/core/layer_norm.h"
#include "ops/core/mean_rows.h"
#include "ops/core/score_vectors.gpu.h"
#include "ops/matmul/experts.gpu.h"
#include "ops/matmul/head_products.gpu.h"
#include "ops/matmul/weigh_rows.h"

namespace longhaul::cuda {

namespace {

void implement_few_families(GpuQueue& queue) {
  queue.implement(kLayerNorm, [](GpuQueue& on, View<const float> x, View<const float> weight,
                                 float eps, int64_t rows, int64_t n, View<float> y) {
    layer_norm(on.handle(), x.address(), weight.address(), eps, rows, n, y.address());
  });
  queue.implement(kActivate, [](GpuQueue& on, Ungated function, const Xielu& xielu, View<float> x) {
    activate(on.handle(), function, xielu, x.address(), x.size());
  });
  queue.implement(kCopyRowColumns, [](GpuQueue& on, const RowColumns<const float>& from,
                                      const RowColumns<float>& to, int64_t rows, int64_t count) {
    copy_row_columns(on.handle(), from.numbers.address(), from.stride, to.numbers.address(),
                     to.stride, rows, count);
  });
  queue.implement(kMultiplyColumns, [](GpuQueue& on, View<const float> factors, View<float> x) {
    multiply_columns(on.handle(), factors.address(), factors.size(), x.address(),
                     x.size() / factors.size());
  });
  queue.implement(kWeighRows, [](GpuQueue& on, View<const float> logits, View<const float> x,
                                 int64_t rows, View<float> y) {
    weigh_rows(on.handle(), logits.address(), static_cast<int>(logits.size() / rows), x.address(),
               rows, x.size() / rows, y.address());
  });
  queue.implement(kLatentKeys, [](GpuQueue& on, const LatentKeys& shape, View<const float> products,
                                  View<const float> weight, View<float> keys) {
    latent_keys(on.handle(), shape, products.address(), weight.address(), keys.address());
  });
  queue.implement(
      kMultiplyHeads,
      [](GpuQueue& on, int64_t rows, const HeadMatrices& w, const HeadNumbers<const float>& x,
         const HeadNumbers<float>& y) { return multiply_heads(on.handle(), rows, w, x, y); });
}

}  // namespace

void implement_core(GpuQueue& queue) {
  queue.implement(kSideCopies, [](GpuQueue& on) { return make_side_copies(on); });
  queue.implement(kFill, [](GpuQueue& on, View<float> x, float value) {
    fill(on.handle(), x.address(), x.size(), value);
  });
  queue.implement(kAddLists, [](GpuQueue& on, View<const float> x, View<float> out) {
    if (out.empty()) return false;
    add_lists(on.handle(), x.address(), x.size() / out.size(), out.size(), out.address());
    return true;
  });
  queue.implement(kSumGroups, [](GpuQueue& on, auto x, auto out) {
    std::vector<ListGroup> groups;
    for (size_t i = 0; i < x.size(); ++i) {
      if (out[i].empty()) return false;
      groups.push_back(
          {x[i].address(), x[i].size() / out[i].size(), out[i].size(), out[i].address()});
    }
    sum_groups(on.handle(), groups);
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
  queue.implement(kEndBestLogits, [](GpuQueue& on, uint64_t event) { on.end_downloads(event); });
  implement_few_families(queue);
}

}  // namespace longhaul::cuda
