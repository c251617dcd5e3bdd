#include "attention/methods/reattention/voted_spans.h"

#include "base/nth.h"
#include "ops/core/all_reduce.h"

namespace longhaul {

/// Collects the votes of all elections with the rule `rule`, because top_keys() supports only one
/// rule per call.
void VotedSpans::vote_by(TopRule rule, const AttendCall& call, std::span<const PagedRows> lists,
                         int64_t first, const SpanVote& vote, std::span<const Election> elections) {
  const int all = static_cast<int>(lists.size()), group = call.heads / all;
  tasks_.clear();
  for (const Election& e : elections) {
    if (e.rule != rule) continue;
    for (int head = 0; head < call.heads; head += e.mispaired ? 1 : group) {
      tasks_.push_back({.head_begin = head,
                        .head_count = e.mispaired ? 1 : group,
                        .row_begin = e.row,
                        .row_count = e.rows,
                        .keys = nth(lists, e.mispaired ? head % all : head / group),
                        .begin = first,
                        .count = e.count});
    }
  }
  if (tasks_.empty()) return;
  TopKeysCall top;
  top.queue = call.queue;
  top.queries = call.queries.front();
  top.heads = call.heads;
  top.head_dim = call.head_dim;
  top.k = vote.k;
  top.rule = rule;
  top.compute = call.compute;
  top.keys = votes_.view();
  top_keys(top, tasks_);
}

View<const int32_t> VotedSpans::votes_of(Queue& queue, const Election& election,
                                         int64_t votes_of_row) {
  const int64_t first = election.row * votes_of_row, count = election.rows * votes_of_row;
  const View<const int32_t> own = votes_.view().part(first, count);
  if (queue.communicator() == nullptr) return own;
  const View<int32_t> all = all_votes_.view().part(first * queue.ranks(), count * queue.ranks());
  all_gather(queue, own, all);
  return all;
}

void VotedSpans::choose(const AttendCall& call, std::span<const PagedRows> lists, int64_t first,
                        const SpanVote& vote, std::span<Election> elections) {
  LH_ASSERT(call.queries.size() == 1 && !lists.empty());
  if (elections.empty()) return;
  Queue& queue = *call.queue;
  const int64_t rows = call.queries.front().size() / (int64_t{call.heads} * call.head_dim);
  const int64_t votes_of_row = int64_t{call.heads} * vote.k;
  votes_.resize(queue, rows * votes_of_row);
  if (queue.communicator() != nullptr)
    all_votes_.resize(queue, queue.ranks() * rows * votes_of_row);
  for (const TopRule rule : {TopRule::kTile, TopRule::kExact}) {
    vote_by(rule, call, lists, first, vote, elections);
  }
  if (memory_.size() < elections.size()) memory_.resize(elections.size());
  counted_.clear();
  for (size_t i = 0; i < elections.size(); ++i) {
    const Election& e = elections[i];
    counted_.push_back({votes_of(queue, e, votes_of_row), e.count, &memory_[i].count});
  }
  most_voted(queue, counted_, vote.clip);
  spans_.clear();
  for (size_t i = 0; i < elections.size(); ++i) {
    spans_.push_back({memory_[i].count.chosen, elections[i].count, &memory_[i].spans});
  }
  expand_spans(queue, spans_, vote.span, first);
  for (size_t i = 0; i < elections.size(); ++i) elections[i].chosen = memory_[i].spans.list;
}

}  // namespace longhaul
