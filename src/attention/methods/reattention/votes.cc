#include "attention/methods/reattention/votes.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/on_device.h"
#include "ops/choose/score_threshold.h"

namespace longhaul {
namespace {

/// Returns at least `numbers` counters that are zero. Counters are zero after each use, so that
/// only new memory must be cleared. The size is doubled when it is too small, because `numbers`
/// grows with every token.
View<int32_t> zeros(Queue& queue, int64_t numbers, Array<int32_t>& counters) {
  const bool here = counters.view().place() == queue.place();
  if (counters.size() < numbers || !here) {
    const int64_t room = here ? std::max(numbers, 2 * counters.size()) : numbers;
    const View<int32_t> grown = counters.resize(queue, room);
    if (queue.on_host()) {
      std::fill_n(host(grown).begin(), grown.size(), 0);
    } else {
      queue.device().clear(grown.address(), static_cast<size_t>(grown.size()) * sizeof(int32_t));
    }
  }
  return counters.view();
}

/// Returns the arguments for counting votes on a device, after allocating the result and counters
/// with zeros.
DeviceVote vote_there(Queue& queue, const Vote& vote, int64_t k) {
  VoteCount& memory = *vote.memory;
  const int64_t numbers = vote.numbers, most_numbers = std::min(numbers, vote.votes.size());
  const DeviceVote there{vote.votes,
                         numbers,
                         k,
                         zeros(queue, numbers, memory.counters),
                         zeros(queue, (numbers + 31) / 32, memory.scratch),
                         zeros(queue, 1, memory.votes),
                         memory.numbers.resize(queue, most_numbers),
                         memory.rows.resize(queue, std::min(k, most_numbers)),
                         memory.count.resize(queue, 1)};
  memory.chosen = {there.rows, there.count};
  return there;
}

/// Writes the numbers that have votes in ascending order, and how many votes each of them has.
/// Resets the counters to zero. Returns how many numbers have votes.
int64_t count_votes(std::span<const int32_t> votes, std::span<int32_t> counters, int32_t* numbers,
                    int32_t* counts) {
  int64_t found = 0;
  for (const int32_t vote : votes) {
    if (vote >= 0 && counters[static_cast<size_t>(vote)]++ == 0) numbers[found++] = vote;
  }
  std::sort(numbers, numbers + found);
  for (int64_t i = 0; i < found; ++i) {
    counts[i] = std::exchange(counters[static_cast<size_t>(numbers[i])], 0);
  }
  return found;
}

RowList choose_voted(Queue& queue, View<const int32_t> votes, int64_t numbers, int64_t k,
                     VoteCount& memory) {
  const std::span<const int32_t> cast = host(votes);
  LH_ASSERT(cast.empty() || *std::max_element(cast.begin(), cast.end()) < numbers);
  const std::span<int32_t> counters = host(zeros(queue, numbers, memory.counters));
  const int64_t most_numbers = std::min(numbers, std::ssize(cast));
  int32_t* const found = host(memory.numbers.resize(queue, most_numbers)).data();
  int32_t* const counts = host(memory.votes.resize(queue, most_numbers)).data();
  const int64_t voted = count_votes(cast, counters, found, counts);

  const int64_t most = std::min(k, most_numbers), chosen = std::min(k, voted);
  const std::span<const int32_t> ranked(counts, static_cast<size_t>(voted));
  int32_t* const rows = host(memory.rows.resize(queue, most + 1)).data();
  write_best(ranked, threshold_of_best(ranked, chosen, memory.scratch), 0, rows);
  for (int64_t i = 0; i < chosen; ++i) rows[i] = found[rows[i]];
  const View<int32_t> count = memory.count.resize(queue, 1);
  host(count)[0] = static_cast<int32_t>(chosen);
  return {memory.rows.resize(queue, most), count};
}

RowList expand(Queue& queue, const RowList& chosen, int64_t span, int64_t end, int64_t first,
               SpanRows& memory) {
  const View<int32_t> room = memory.rows.resize(queue, std::min(end, chosen.most() * span));
  int32_t* const rows = host(room).data();
  int64_t next = 0, written = 0;
  for (const int32_t row : host_rows(chosen)) {
    const int64_t stop = std::min(end, row - span / 2 + span);
    for (next = std::max(next, row - span / 2); next < stop; ++next) {
      rows[written++] = static_cast<int32_t>(first + next);
    }
  }
  const View<int32_t> count = memory.count.resize(queue, 1);
  host(count)[0] = static_cast<int32_t>(written);
  return {room, count};
}

}  // namespace

void most_voted(Queue& queue, std::span<const Vote> votes, int64_t k) {
  LH_ASSERT(k >= 0);
  for (const Vote& vote : votes) LH_ASSERT(vote.numbers >= 0 && vote.memory != nullptr);
  if (has(kMostVoted, queue)) {
    thread_local std::vector<DeviceVote> there;
    there.clear();
    for (const Vote& vote : votes) there.push_back(vote_there(queue, vote, k));
    if (on_device(kMostVoted, queue, there)) return;
  }
  for (const Vote& vote : votes) {
    HostStage on(queue);
    vote.memory->chosen = choose_voted(host_queue(), on(vote.votes), vote.numbers, k, *vote.memory);
  }
}

RowList most_voted(Queue& queue, View<const int32_t> votes, int64_t numbers, int64_t k,
                   VoteCount& memory) {
  const Vote vote{votes, numbers, &memory};
  most_voted(queue, {&vote, 1}, k);
  return memory.chosen;
}

void expand_spans(Queue& queue, std::span<const Spans> spans, int64_t span, int64_t first) {
  LH_ASSERT(span > 0 && first >= 0);
  for (const Spans& of : spans) {
    LH_ASSERT(of.end >= 0 && first + of.end <= std::numeric_limits<int32_t>::max());
  }
  if (has(kExpandSpans, queue)) {
    thread_local std::vector<DeviceSpans> there;
    there.clear();
    for (const Spans& of : spans) {
      SpanRows& memory = *of.memory;
      const int64_t most = std::min(of.end, of.chosen.most() * span);
      memory.list = {memory.rows.resize(queue, most), memory.count.resize(queue, 1)};
      there.push_back({of.chosen, of.end, memory.rows.view(), memory.count.view()});
    }
    if (on_device(kExpandSpans, queue, there, span, first)) return;
  }
  for (const Spans& of : spans) {
    HostStage on(queue);
    of.memory->list = expand(host_queue(), on_host(on, of.chosen), span, of.end, first, *of.memory);
  }
}

RowList expand_spans(Queue& queue, const RowList& chosen, int64_t span, int64_t end, int64_t first,
                     SpanRows& memory) {
  const Spans of{chosen, end, &memory};
  expand_spans(queue, {&of, 1}, span, first);
  return memory.list;
}

}  // namespace longhaul
