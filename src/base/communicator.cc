#include "base/communicator.h"

#include "base/assert.h"
#include "base/await_change.h"

namespace longhaul {

Communicator::Communicator(std::vector<std::shared_ptr<DeviceQueue>> devices)
    : devices_(std::move(devices)), shown_(devices_.size()) {
  LH_ASSERT(devices_.size() >= 2);
}

const std::shared_ptr<DeviceQueue>& Communicator::device(int rank) const {
  return devices_[static_cast<size_t>(rank)];
}

void Communicator::barrier() {
  const uint32_t round = round_.load(), met = met_.load();
  // checked before the round, which no rank would complete
  if (gave_up_.load()) throw CommunicatorAborted();
  if (arrived_.fetch_add(1) + 1 == size()) {
    arrived_.store(0);
    met_.fetch_add(1);
    round_.fetch_add(1);
    round_.notify_all();
    return;
  }
  if (left_.load() > 0) give_up();  // a missing rank will never arrive
  await_change(round_, round, size());
  // If all have arrived, a later failure is not reported here; each rank continues to the next
  // common step.
  if (met_.load() == met) throw CommunicatorAborted();
}

void Communicator::end_step() {
  left_.fetch_add(1);
  if (arrived_.load() > 0) give_up();
}

void Communicator::give_up() noexcept {
  gave_up_.store(true);
  round_.fetch_add(1);
  round_.notify_all();
}

void Communicator::begin_anew() {
  arrived_.store(0);
  gave_up_.store(false);
  for (Shown& each : shown_) each.next = 0;
}

std::vector<int64_t> Communicator::all_gather(int rank, std::span<const int64_t> own) {
  const int place = shown(rank).next++ % 2;
  shown(rank).says[place].assign(own.begin(), own.end());
  barrier();
  std::vector<int64_t> all;
  for (const Shown& each : shown_) {
    LH_ASSERT(each.says[place].size() == own.size());
    all.insert(all.end(), each.says[place].begin(), each.says[place].end());
  }
  return all;
}

bool Communicator::any(int rank, bool says) {
  const int64_t own = says ? 1 : 0;
  for (const int64_t each : all_gather(rank, {&own, 1})) {
    if (each != 0) return true;
  }
  return false;
}

void Communicator::all_reduce(int rank, float* numbers, int64_t count) {
  const int place = shown(rank).next++ % 2;
  std::vector<float>& own = shown(rank).numbers[place];
  own.resize(static_cast<size_t>(count));
  device(rank)->download(numbers, own.data(), own.size() * sizeof(float));
  barrier();
  std::vector<float> sum(own.size());
  for (const Shown& each : shown_) {
    LH_ASSERT(each.numbers[place].size() == sum.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += each.numbers[place][i];
  }
  device(rank)->upload(sum.data(), numbers, sum.size() * sizeof(float));
}

void Communicator::all_gather(int rank, const int32_t* own, int64_t count, int32_t* all) {
  const int place = shown(rank).next++ % 2;
  const auto bytes = static_cast<size_t>(count) * sizeof(int32_t);
  std::vector<int32_t>& here = shown(rank).words[place];
  here.resize(static_cast<size_t>(count));
  device(rank)->download(own, here.data(), bytes);
  barrier();
  for (const Shown& each : shown_) {
    LH_ASSERT(each.words[place].size() == here.size());
    device(rank)->upload(each.words[place].data(), all, bytes);
    all += count;
  }
}

}  // namespace longhaul
