#include "ops/blocks/block_rows.h"

#include <algorithm>
#include <numeric>

#include "base/on_device.h"

namespace longhaul {

RowList block_rows(Queue& queue, int64_t first, const RowList& blocks, int64_t block, int64_t begin,
                   Array<int32_t>& memory) {
  if (!queue.on_host() && blocks.rows.place() == queue.place()) {
    if (blocks.count.empty()) {
      const View<int32_t> rows = memory.resize(queue, first + blocks.most() * block);
      if (on_device(kBlockRows, queue, first, blocks.rows, block, begin, rows)) return {rows, {}};
    }
    HostStage on(queue);
    return block_rows(host_queue(), first, on_host(on, blocks), block, begin, memory);
  }
  const std::span<const int32_t> chosen = host_rows(blocks);
  const auto rows = host(memory.resize(host_queue(), first + std::ssize(chosen) * block));
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
  LH_ASSERT(begin <= end);
  if (list.rows.place() == queue.place() && !queue.on_host() && list.count.empty()) {
    if (begin == end) return list;
    std::vector<int32_t> run(static_cast<size_t>(end - begin));
    std::iota(run.begin(), run.end(), static_cast<int32_t>(begin));
    const View<int32_t> rows = memory.resize(queue, list.most() + end - begin);
    DeviceQueue& device = queue.device();
    device.copy(list.rows.address(), rows.address(),
                static_cast<size_t>(list.most()) * sizeof(int32_t));
    device.upload(run.data(), rows.from(list.most()).address(), run.size() * sizeof(int32_t));
    return {rows, {}};
  }
  HostStage on(queue);
  const std::span<const int32_t> before = host_rows(on_host(on, list));
  const auto rows = host(memory.resize(host_queue(), std::ssize(before) + end - begin));
  std::iota(std::copy(before.begin(), before.end(), rows.begin()), rows.end(),
            static_cast<int32_t>(begin));
  return {memory.view(), {}};
}

RowList with_rows(Queue& queue, const RowList& list, std::span<const int32_t> more,
                  Array<int32_t>& memory) {
  if (more.empty()) return list;
  HostStage on(queue);
  const std::span<const int32_t> before = host_rows(on_host(on, list));
  std::vector<int32_t> both;
  std::ranges::set_union(before, more, std::back_inserter(both));
  std::ranges::copy(both, host(memory.resize(host_queue(), std::ssize(both))).begin());
  return {memory.view(), {}};
}

void StoredList::set(Queue& queue, const RowList& list) {
  if (list.rows.place() == queue.place() && !queue.on_host() && list.count.empty()) {
    rows_.clear();
    const View<int32_t> to = rows_.append_zeros(queue, list.most());
    return queue.device().copy(list.rows.address(), to.address(), rows_.bytes());
  }
  HostStage on(queue);
  rows_.assign(host_queue(), host_rows(on_host(on, list)));
}

void StoredList::set_first(int64_t count) {
  rows_.clear();
  const std::span<int32_t> rows = host(rows_.append_zeros(host_queue(), count));
  std::iota(rows.begin(), rows.end(), 0);
}

bool StoredList::makes_sense(int64_t most, int64_t end) const {
  const std::span<const int32_t> rows = host(rows_.view());
  const bool ascends =
      std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
  return std::ssize(rows) <= most && ascends &&
         (rows.empty() || (rows.front() >= 0 && rows.back() < end));
}

}  // namespace longhaul
