// Operations of methods allocate only once: repeated calls with equal sizes do not allocate.

#include "attention/methods/adakv/allocate_rows.h"
#include "attention/methods/reattention/votes.h"
#include "attention/methods/roco/steady_scores.h"
#include "ops/counted_allocations.h"
#include "ops/view_of.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace longhaul {
namespace {

using namespace testing_support;

TEST(MethodAllocations, OfSelectionsThereAreNone) {
  std::vector<float> scores(2000), pooled(2000), seen(2000, 3.0f);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i * 7919 % 2003);
  Queue& queue = host_queue();
  std::vector<SharedSelection> selections(2);
  std::vector<RowList> kept(2);
  const View<const float> lists[] = {view_of(scores), view_of(pooled)};
  expect_no_allocation("allocate_rows", [&] {
    allocate_rows(queue, lists, {4, 32, 900}, 100, selections, kept, {});
  });
  Array<float> steadiness;
  expect_no_allocation("steady_scores", [&] {
    const SteadyList list{
        {view_of(scores), view_of(scores), view_of(seen)}, {4, 10, 500}, view_of(pooled)};
    steady_scores(queue, {&list, 1}, steadiness);
  });
  const std::vector<int32_t> votes = {5, 9, 5, 1500, -1, 70, 9};
  VoteCount memory;
  SpanRows spans;
  expect_no_allocation("votes", [&] {
    const RowList voted = most_voted(queue, view_of(votes), 2000, 3, memory);
    expand_spans(queue, voted, 32, 2000, 4, spans);
  });
}

}  // namespace
}  // namespace longhaul

#endif
