// Attention of a token that the previous kernel appends, and which may still run when attention
// starts. Slots without written rows hold NaN, so that reading too early is detected.

#include <gtest/gtest.h>

#include "attend_pages.h"
#include "ops/attention/kv.h"

namespace longhaul::cuda {
namespace {

constexpr int kHeads = 8, kKvHeads = 2, kDim = 128;
constexpr int64_t kOld = 5000, kSteps = 56;  // up to the end of the last page

struct Chain {
  explicit Chain(KvType type) : random(7), pages(type, kDim, kKvHeads, kOld, random) {
    for (size_t h = 0; h < kKvHeads; ++h) listed.emplace_back(pages.lists[h]);
  }

  PagedRows rows(size_t h) const {
    PagedRows rows = pages.head(h);
    rows.listed = listed[h].data();
    return rows;
  }

  std::mt19937 random;
  Pages pages;
  std::vector<OnDevice<const std::byte*>> listed;
};

/// Each token's query, key and value are the attention output of the previous token.
std::vector<float> last_output(KvType type, bool wait, int64_t sinks) {
  Chain chain(type);
  std::vector<float> first(kHeads * kDim);
  for (size_t i = 0; i < first.size(); ++i) first[i] = std::sin(static_cast<float>(i * i % 97));
  const OnDevice<float> of_steps[] = {OnDevice<float>(first), OnDevice<float>(first)};
  Scratch scratch;
  AttendCall call;
  call.heads = kHeads;
  call.head_dim = kDim;
  call.scale = 1;
  const KvForm form{type, kDim, 64};
  for (int64_t step = 0; step < kSteps; ++step) {
    const int64_t end = kOld + step;
    const OnDevice<float>&x = of_steps[step % 2], &y = of_steps[1 - step % 2];
    const View<const float> queries[] = {x.view()};
    call.queries = queries;
    call.out = y.view();
    std::vector<AppendList> lists;
    std::vector<KeySegment> segments(2 * kKvHeads);
    std::vector<AttendTask> tasks;
    for (size_t h = 0; h < kKvHeads; ++h) {
      auto* const table = const_cast<std::byte* const*>(chain.listed[h].data());
      lists.push_back({table, end, static_cast<int32_t>(h)});
      KeySegment* const own = &segments[2 * h];
      own[0].rows = own[1].rows = chain.rows(h);
      own[0].count = sinks;
      own[1].begin = own[1].position = sinks;
      own[1].count = end + 1 - sinks;
      tasks.push_back({static_cast<int>(h) * kHeads / kKvHeads, kHeads / kKvHeads, 0, 1, end,
                       std::span<const KeySegment>(own, 2)});
    }
    NewRows added{.rows = 1, .k = x.data(), .v = x.data() + kKvHeads * kDim};
    added.k_stride = added.v_stride = kKvHeads * kDim;
    append_rows(nullptr, form, added, lists);
    if (wait) ok(cudaDeviceSynchronize());
    attend(nullptr, call, tasks, scratch);
    if (wait) ok(cudaDeviceSynchronize());
  }
  return of_steps[kSteps % 2].back();
}

TEST(AppendedRows, AreSeenByTheKernelBehind) {
  for (const KvType type : {KvType{DType::BF16, DType::BF16}, KvType{DType::Q8_0, DType::Q8_0}}) {
    for (const int64_t sinks : {0, 64}) {
      const std::vector<float> expected = last_output(type, true, sinks);
      for (const float v : expected) ASSERT_TRUE(std::isfinite(v));
      EXPECT_EQ(last_output(type, false, sinks), expected);
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
