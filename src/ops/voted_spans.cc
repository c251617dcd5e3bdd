#include "ops/voted_spans.h"

#include "base/nth.h"

namespace longhaul {

RowList VotedSpans::choose(const AttendCall& call, std::span<const PagedRows> lists, int64_t first,
                           int64_t count, const SpanVote& vote) {
  LH_ASSERT(call.queries.size() == 1 && !lists.empty());
  const View<const float> queries = call.queries.front();
  const int64_t rows = queries.size() / (int64_t{call.heads} * call.head_dim);
  const int all = static_cast<int>(lists.size()), group = call.heads / all;
  tasks_.clear();
  for (int head = 0; head < call.heads; head += vote.mispaired ? 1 : group) {
    tasks_.push_back({.head_begin = head,
                      .head_count = vote.mispaired ? 1 : group,
                      .row_count = static_cast<int>(rows),
                      .keys = nth(lists, vote.mispaired ? head % all : head / group),
                      .begin = first,
                      .count = count});
  }
  TopKeysCall top;
  top.queue = call.queue;
  top.queries = queries;
  top.heads = call.heads;
  top.head_dim = call.head_dim;
  top.k = vote.k;
  top.rule = vote.rule;
  top.compute = call.compute;
  top.keys = votes_.resize(*call.queue, rows * call.heads * vote.k);
  top_keys(top, tasks_);
  const RowList chosen = most_voted(*call.queue, votes_.view(), count, vote.clip, count_);
  return expand_spans(*call.queue, chosen, vote.span, count, first, spans_);
}

}  // namespace longhaul
