#pragma once
// Queries of a prompt's last rows against two KV heads, and their softmax map in double precision.

#include <cmath>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul::testing_support {

struct SoftmaxMap {
  SoftmaxMap(KvType type, int dim, int head_group, int row_count, int64_t past,
             AttendCompute compute)
      : group(head_group), rows(row_count), keys(past + row_count) {
    std::mt19937 random(29);
    std::normal_distribution<float> normal;
    for (int h = 0; h < 2; ++h) heads.emplace_back(type, dim, keys, random);
    q.resize(static_cast<size_t>(rows * 2 * group * dim));
    for (float& x : q) x = 2 * bf16_to_f32(f32_to_bf16(normal(random)));
    lse.assign(static_cast<size_t>(rows * 2 * group), NAN);
    forms[0] = view_of(q);
    call.queries = forms;
    call.heads = 2 * group;
    call.head_dim = dim;
    call.scale = 1.0f / std::sqrt(static_cast<float>(dim));
    call.compute = compute;
    call.lse = view_of(lse);
    call.lse_in = call.lse;
    for (int h = 0; h < 2; ++h) {
      segments[h].rows = heads[static_cast<size_t>(h)].view();
      segments[h].count = keys;
      tasks.push_back({h * group, group, 0, rows, past, {&segments[h], 1}});
    }
  }
  SoftmaxMap(const SoftmaxMap&) = delete;

  /// Probabilities [keys] of a row (zeros if it sees no key), and the log of their denominator.
  std::vector<double> row(int head, int r, double* denominator = nullptr) const {
    const auto seen = seen_keys(call, tasks[static_cast<size_t>(head / group)],
                                heads[static_cast<size_t>(head / group)], {}, r, head);
    double sum = 0;
    for (const SeenKey& key : seen) sum += std::exp(key.logit);
    std::vector<double> p(static_cast<size_t>(keys));
    for (const SeenKey& key : seen) p[key.column] = std::exp(key.logit) / sum;
    if (denominator != nullptr) *denominator = std::log(sum);
    return p;
  }

  bool exact() const {
    return call.compute == AttendCompute::kF32 || current_isa() < Isa::kAvx512Bf16;
  }

  int group, rows;
  int64_t keys;
  std::vector<PagedHead> heads;
  std::vector<float> q, lse;
  View<const float> forms[1];
  KeySegment segments[2];
  std::vector<AttendTask> tasks;
  AttendCall call;
};

}  // namespace longhaul::testing_support
