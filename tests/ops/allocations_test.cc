// Operations that a method calls for every token allocate only once: repeated calls with equal
// sizes do not allocate.

#include "base/parallel.h"
#include "ops/choose/pool_scores.h"
#include "ops/choose/select_rows.h"
#include "ops/counted_allocations.h"
#include "ops/maps/column_sums.h"
#include "ops/maps/top_keys.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace longhaul {
namespace {

using namespace testing_support;

TEST(Allocations, AreCounted) {
  const int64_t before = allocations.load();
  const auto numbers = std::make_unique<std::vector<int>>(100);
  EXPECT_GE(allocations.load() - before, 2) << numbers->size();
}

TEST(Allocations, OfTheAttentionOfOneTokenThereAreNone) {
  const int threads = thread_count();
  std::mt19937 random(1);
  const PagedHead head(DType::BF16, 64, 3000, random);
  std::vector<float> q(2 * 64, 0.1f), out(2 * 64), lse(2), sums(3000), scores(2 * 4);
  std::vector<int32_t> best(2 * 4);
  KeySegment s;
  s.rows = head.view();
  s.count = 3000;
  const AttendTask task{0, 2, 0, 1, 2999, {&s, 1}};
  const View<const float> form = view_of(q);
  AttendCall call;
  call.queries = {&form, 1};
  call.heads = 2;
  call.head_dim = 64;
  call.out = view_of(out);
  call.lse = view_of(lse);
  call.lse_in = view_of(lse);
  const ColumnTarget target{view_of(sums), {}};
  TopKeysCall top;
  top.queries = form;
  top.heads = 2;
  top.head_dim = 64;
  top.k = 4;
  top.keys = view_of(best);
  top.scores = view_of(scores);
  const TopKeysTask top_task{0, 2, 0, 1, head.view(), 0, 3000};
  for (const int count : {1, 2}) {
    set_thread_count(count);
    // Either thread may be first in a call. After these calls both have their scratch.
    for (int i = 0; i < 50; ++i) attend(call, {&task, 1});
    for (int i = 0; i < 50; ++i) column_sums(call, {&task, 1}, {&target, 1});
    for (int i = 0; i < 50; ++i) top_keys(top, {&top_task, 1});
    expect_no_allocation("attend", [&] { attend(call, {&task, 1}); });
    expect_no_allocation("column_sums", [&] { column_sums(call, {&task, 1}, {&target, 1}); });
    expect_no_allocation("top_keys", [&] { top_keys(top, {&top_task, 1}); });
  }
  set_thread_count(threads);
}

TEST(Allocations, OfSelectionsThereAreNone) {
  std::vector<float> scores(2000), pooled(2000);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i * 7919 % 2003);
  Queue& queue = host_queue();
  RowSelection selection;
  for (const int64_t count : {100, 1990}) {  // few of many rows, and most rows
    expect_no_allocation("select_rows", [&] {
      select_rows(queue, view_of(scores), {4, 32, count}, selection);
    });
  }
  expect_no_allocation("pool_scores", [&] {
    pool_scores(queue, view_of(scores), 5, Pooling::kMax, view_of(pooled));
  });
}

}  // namespace
}  // namespace longhaul

#endif
