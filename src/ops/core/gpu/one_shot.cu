#include <algorithm>

#include "base/assert.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/one_shot.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;
/// Number of polls of a box between two polls of the host's word, which take a microsecond.
constexpr int kLooks = 1 << 14;

/// Destinations of words. A word has 8 bytes; its upper half is the number of its exchange. An
/// aligned store of 8 bytes is atomic, so words need no fence. A box has memory for two alternating
/// exchanges, [2, ranks, kMostWords]. A rank that sends words of an exchange has received the
/// previous exchange from all ranks. These have therefore read the exchange before that.
struct Boxes {
  uint64_t* of[OneShot::kMostMembers];
};

struct TwoWords {
  uint32_t v[2];
};

__device__ __forceinline__ void send(uint64_t* to, TwoWords words, uint32_t round) {
  const uint64_t mark = static_cast<uint64_t>(round) << 32;
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(mark | words.v[0]),
               "l"(mark | words.v[1])
               : "memory");
}

__device__ __forceinline__ TwoWords receive(const uint64_t* from, uint32_t round,
                                            const volatile uint32_t* stop) {
  uint64_t a, b;
  for (uint32_t looks = 0;;) {
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(a), "=l"(b)
                 : "l"(from)
                 : "memory");
    if (a >> 32 == round && b >> 32 == round) break;
    if (++looks % kLooks == 0 && *stop != 0) break;
  }
  return {static_cast<uint32_t>(a), static_cast<uint32_t>(b)};
}

__device__ __forceinline__ TwoWords sum_of(TwoWords a, TwoWords b) {
  return {__float_as_uint(__uint_as_float(a.v[0]) + __uint_as_float(b.v[0])),
          __float_as_uint(__uint_as_float(a.v[1]) + __uint_as_float(b.v[1]))};
}

__device__ __forceinline__ void store(uint32_t* to, TwoWords words, bool both) {
  to[0] = words.v[0];
  if (both) to[1] = words.v[1];
}

/// A thread handles two words. Sums are in the order of ranks, so all ranks get equal bits.
template <bool kSum>
__global__ void __launch_bounds__(kThreads)
    exchange_kernel(const uint32_t* own, int count, uint32_t* all,
                    const __grid_constant__ Boxes boxes, int rank, int ranks, uint32_t round,
                    const volatile uint32_t* stop) {
  await_turn();
  const int i = 2 * static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= count) return;
  const bool both = i + 1 < count;
  const TwoWords mine = {own[i], both ? own[i + 1] : 0};
  const auto place = [&](int from) {
    return ((round % 2) * ranks + from) * OneShot::kMostWords + i;
  };
  for (int to = 0; to < ranks; ++to) {
    if (to != rank) send(boxes.of[to] + place(rank), mine, round);
  }
  TwoWords sum = {};
  for (int from = 0; from < ranks; ++from) {
    TwoWords words = mine;
    if (from != rank) words = receive(boxes.of[rank] + place(from), round, stop);
    if (!kSum) {
      store(all + static_cast<int64_t>(from) * count + i, words, both);
    } else {
      sum = from == 0 ? words : sum_of(sum, words);
    }
  }
  if (kSum) store(all + i, sum, both);
}

/// Enables writes of `gpu` into the memory of `other`. Returns whether that is possible.
bool reaches(int gpu, int other) {
  if (gpu == other) return true;
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, gpu, other) != cudaSuccess || can == 0) return false;
  check(cudaSetDevice(gpu), "cudaSetDevice");
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  cudaGetLastError();  // clears cudaErrorPeerAccessAlreadyEnabled
  return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
}

}  // namespace

std::unique_ptr<OneShot> OneShot::between(const std::vector<std::shared_ptr<GpuQueue>>& gpus) {
  if (gpus.size() > kMostMembers) return nullptr;
  for (const auto& gpu : gpus) {
    for (const auto& other : gpus) {
      if (!reaches(gpu->place().device, other->place().device)) return nullptr;
    }
  }
  return std::unique_ptr<OneShot>(new OneShot(gpus));
}

OneShot::OneShot(const std::vector<std::shared_ptr<GpuQueue>>& gpus)
    : gpus_(gpus), boxes_(gpus.size()), stop_(sizeof(uint32_t)) {
  stop() = 0;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    gpus_[i]->enter();
    boxes_[i].words = DeviceBuffer(2 * gpus_.size() * kMostWords * sizeof(uint64_t));
    gpus_[i]->clear(boxes_[i].words.data(), boxes_[i].words.bytes());
    gpus_[i]->wait();
    // Loads the kernels now, while no GPU waits for another.
    for (auto* const kernel : {exchange_kernel<false>, exchange_kernel<true>}) {
      waits_by_itself(reinterpret_cast<const void*>(kernel));
    }
  }
}

void OneShot::exchange(int rank, const uint32_t* own, int64_t count, uint32_t* all, bool sum) {
  LH_ASSERT(count <= kMostWords);
  if (count == 0) return;
  Boxes boxes{};
  for (size_t i = 0; i < boxes_.size(); ++i) boxes.of[i] = boxes_[i].words.as<uint64_t>();
  Box& box = boxes_[static_cast<size_t>(rank)];
  const auto blocks = static_cast<unsigned>((count + 2 * kThreads - 1) / (2 * kThreads));
  launch_early(gpus_[static_cast<size_t>(rank)]->handle(), "one_shot",
               sum ? exchange_kernel<true> : exchange_kernel<false>, blocks, kThreads, 0, own,
               static_cast<int>(count), all, boxes, rank, static_cast<int>(boxes_.size()),
               ++box.round, &stop());
}

void OneShot::all_reduce(int rank, float* numbers, int64_t count) {
  auto* const words = reinterpret_cast<uint32_t*>(numbers);
  exchange(rank, words, count, words, true);
}

void OneShot::all_gather(int rank, const int32_t* own, int64_t count, int32_t* all) {
  exchange(rank, reinterpret_cast<const uint32_t*>(own), count, reinterpret_cast<uint32_t*>(all),
           false);
}

void OneShot::give_up() noexcept { stop() = 1; }

void OneShot::begin_anew() {
  uint32_t last = 0;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    gpus_[i]->enter();
    gpus_[i]->wait();
    last = std::max(last, boxes_[i].round);
  }
  // The next round is later than all that any rank sent, so words of incomplete exchanges match
  // no round.
  for (Box& box : boxes_) box.round = last;
  stop() = 0;
}

}  // namespace longhaul::cuda
