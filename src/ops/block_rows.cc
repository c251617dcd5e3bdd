#include "ops/block_rows.h"

#include <algorithm>
#include <numeric>

namespace longhaul {

RowList block_rows(Queue& queue, int64_t first, const RowList& blocks, int64_t block, int64_t begin,
                   Array<int32_t>& memory) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return block_rows(host_queue(), first, on_host(on, blocks), block, begin, memory);
  }
  const std::span<const int32_t> chosen = host_rows(blocks);
  const auto rows = host(memory.resize(queue, first + std::ssize(chosen) * block));
  auto to = rows.begin() + first;
  std::iota(rows.begin(), to, 0);
  for (const int32_t b : chosen) {
    std::iota(to, to + block, static_cast<int32_t>(begin + b * block));
    to += block;
  }
  return {memory.view(), {}};
}

RowList with_run(Queue& queue, const RowList& list, int64_t begin, int64_t end,
                 Array<int32_t>& memory) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return with_run(host_queue(), on_host(on, list), begin, end, memory);
  }
  LH_ASSERT(begin <= end);
  const std::span<const int32_t> before = host_rows(list);
  const auto rows = host(memory.resize(queue, std::ssize(before) + end - begin));
  std::iota(std::copy(before.begin(), before.end(), rows.begin()), rows.end(),
            static_cast<int32_t>(begin));
  return {memory.view(), {}};
}

void StoredList::set(Queue& queue, const RowList& list) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return set(host_queue(), on_host(on, list));
  }
  const std::span<const int32_t> rows = host_rows(list);
  rows_.assign(rows.begin(), rows.end());
}

void StoredList::set_first(Queue&, int64_t count) {
  rows_.resize(static_cast<size_t>(count));
  std::iota(rows_.begin(), rows_.end(), 0);
}

bool StoredList::makes_sense(int64_t most, int64_t end) const {
  const bool ascends =
      std::adjacent_find(rows_.begin(), rows_.end(), std::greater_equal<>()) == rows_.end();
  return std::ssize(rows_) <= most && ascends &&
         (rows_.empty() || (rows_.front() >= 0 && rows_.back() < end));
}

}  // namespace longhaul
