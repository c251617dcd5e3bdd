#include "ops/core/gpu/gpu_queue.gpu.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "ops/core/gpu/cuda_ops.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/operations.gpu.h"
#include "ops/core/gpu/piece_copies.gpu.h"

namespace longhaul::cuda {

std::vector<void (*)(GpuQueue&)>& operations_of_other_rooms() {
  static std::vector<void (*)(GpuQueue&)> functions;
  return functions;
}

GpuQueue::GpuQueue(int device) : device_(device) {
  make_current();
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cannot be asked");
  name_ = properties.name;
  processors_ = properties.multiProcessorCount;
  capability_ = 10 * properties.major + properties.minor;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "no stream");
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "no memory pool");
  // Freed memory stays in the pool, since calls of the driver cost milliseconds.
  uint64_t all = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "memory pool");
  for (Stage& stage : stages_) {
    check(cudaMallocHost(reinterpret_cast<void**>(&stage.memory), kStageBytes), "pinned memory");
    check(cudaEventCreateWithFlags(&stage.done, cudaEventDisableTiming), "no event");
  }
  check(cudaMallocHost(reinterpret_cast<void**>(&arrivals_), kArrivalBytes), "pinned memory");
  slabs_ = std::make_unique<SlabRange>(device, properties.totalGlobalMem);
  most_retired_ = properties.totalGlobalMem / 8 / kSlabBytes;
  ops_ = make_ops(*this);
  implement_core(*this);
  implement_attention(*this);
  implement_maps(*this);
  implement_choose(*this);
  implement_blocks(*this);
  implement_grad(*this);
  implement_delta(*this);
  implement_ssm(*this);
  for (const auto implement : operations_of_other_rooms()) implement(*this);
}

GpuQueue::~GpuQueue() {
  cudaSetDevice(device_);
  cudaStreamSynchronize(stream_);
  ops_.reset();
  while (!made_.empty()) made_.pop_back();  // the last one first: it may use earlier ones
  for (const RetiredSlab& each : retired_) slabs_->release(each.slab);
  slabs_.reset();
  for (const Recorded& each : recorded_) cudaEventDestroy(each.event);
  for (cudaEvent_t event : unused_events_) cudaEventDestroy(event);
  for (const Stage& stage : stages_) {
    cudaFreeHost(stage.memory);
    cudaEventDestroy(stage.done);
  }
  cudaFreeHost(arrivals_);
  cudaStreamDestroy(stream_);
}

/// CUDA's current device is per thread.
void GpuQueue::make_current() const { check(cudaSetDevice(device_), "cannot be used"); }

template <class Wait>
void GpuQueue::timed(Wait&& wait) {
  const Stopwatch watch;
  wait();
  waited_seconds_ += watch.seconds();
}

size_t GpuQueue::free_bytes() const {
  return memory_left() + copies_->bytes() + retired_.size() * kSlabBytes;
}

size_t GpuQueue::memory_left() const {
  make_current();
  size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "free memory");
  cudaMemPool_t pool = nullptr;
  uint64_t held = 0, used = 0;  // unused memory that the pool holds is also free
  check(cudaDeviceGetDefaultMemPool(&pool, device_), "memory pool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &held), "memory pool");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "memory pool");
  return free + static_cast<size_t>(held - used);
}

void* GpuQueue::allocate(size_t bytes) {
  make_current();
  void* memory = nullptr;
  constexpr size_t kLarge = size_t{64} << 20;
  if (bytes >= kLarge) keep_room(bytes);
  const cudaError_t error = cudaMallocAsync(&memory, std::max<size_t>(bytes, 1), stream_);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    if (!retired_.empty()) {
      while (free_oldest_slab(true)) {
      }
      return allocate(bytes);
    }
    if (give_up_copies()) return allocate(bytes);
    user_error(
        "GPU {} ({}): no room for {}, {} are free; try a shorter text, --kv-type q8_0, a "
        "smaller --chunk or an attention method that keeps less",
        device_, name_, format_bytes(bytes), format_bytes(free_bytes()));
  }
  check(error, "allocation");
  return memory;
}

void GpuQueue::release(void* memory) noexcept { cudaFreeAsync(memory, stream_); }

void* GpuQueue::allocate_slab() {
  make_current();
  if (!retired_.empty()) {  // the work that read it is queued before all work that will use it now
    void* const slab = retired_.back().slab;
    retired_.pop_back();
    return slab;
  }
  constexpr int64_t kSeldom = 8;  // the driver query takes as long as some kernels
  if (slabs_taken_++ % kSeldom == 0) keep_room(kSeldom * kSlabBytes);
  return slabs_->acquire();
}

/// Frees retired slabs and drops copies of weights before memory runs out. Some memory is allocated
/// elsewhere, where neither is possible.
void GpuQueue::keep_room(size_t bytes) {
  constexpr size_t kLeast = size_t{1} << 30;
  if (copies_->bytes() == 0 && retired_.empty()) return;
  if (memory_left() >= bytes + kLeast) return;
  while (free_oldest_slab(false)) {
  }
  if (copies_->bytes() > 0 && memory_left() < bytes + kLeast) give_up_copies();
}

/// Returns false if there were no copies.
bool GpuQueue::give_up_copies() {
  if (copies_->bytes() == 0) return false;
  copies_->give_up();
  return true;
}

/// Queued work may read the slab. It is usually used again, because mapping and unmapping memory
/// takes the driver longer than some decode steps if many slabs are released together.
void GpuQueue::release_slab(void* slab) noexcept {
  try {
    if (retired_.size() >= most_retired_) free_oldest_slab(false);
    retired_.push_back({record_event(), slab});
  } catch (...) {
    cudaStreamSynchronize(stream_);
    slabs_->release(slab);
  }
}

/// Frees the slab that was retired first. Returns false if there is none, or if `wait` is false and
/// queued work may read it.
bool GpuQueue::free_oldest_slab(bool wait) {
  if (retired_.empty() || (!wait && !event_reached(retired_.front().event))) return false;
  if (wait) wait_for(retired_.front().event);
  slabs_->release(retired_.front().slab);
  retired_.pop_front();
  return true;
}

uint64_t GpuQueue::record_event() {
  make_current();
  Recorded next{events_ + 1, nullptr};
  if (!unused_events_.empty()) {
    next.event = unused_events_.back();
    unused_events_.pop_back();
  } else {
    check(cudaEventCreateWithFlags(&next.event, cudaEventDisableTiming), "no event");
  }
  check(cudaEventRecord(next.event, stream_), "event");
  recorded_.push_back(next);
  return ++events_;
}

bool GpuQueue::event_reached(uint64_t event) {
  while (reached_ < event && !recorded_.empty()) {
    const cudaError_t state = cudaEventQuery(recorded_.front().event);
    if (state == cudaErrorNotReady) return false;
    check(state, "work on the GPU");
    reached_ = recorded_.front().number;
    unused_events_.push_back(recorded_.front().event);
    recorded_.pop_front();
  }
  return true;
}

void GpuQueue::wait_for(uint64_t event) {
  if (event_reached(event)) return;
  for (const Recorded& each : recorded_) {
    if (each.number != event) continue;
    timed([&] { check(cudaEventSynchronize(each.event), "work on the GPU"); });
  }
}

void GpuQueue::synchronize() {
  ++waits_;
  timed([&] { check(cudaStreamSynchronize(stream_), "work on the GPU"); });
}

std::byte* GpuQueue::stage(size_t bytes) {
  LH_ASSERT(bytes <= kStageBytes);
  constexpr size_t kAlignment = 256;
  Stage* stage = &stages_[stage_];
  if (stage->used + bytes > kStageBytes) {
    check(cudaEventRecord(stage->done, stream_), "event");
    stage_ = (stage_ + 1) % stages_.size();
    stage = &stages_[stage_];
    timed([&] {  // for the copies of three stages ago
      check(cudaEventSynchronize(stage->done), "staging");
    });
    stage->used = 0;
  }
  std::byte* const memory = stage->memory + stage->used;
  stage->used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return memory;
}

void GpuQueue::upload(const void* host, void* device, size_t bytes) {
  make_current();
  const auto* from = static_cast<const std::byte*>(host);
  auto* to = static_cast<std::byte*>(device);
  while (bytes > 0) {
    const size_t some = std::min(bytes, kStageBytes / 2);
    std::byte* const staged = stage(some);
    std::memcpy(staged, from, some);
    send_pinned(stream_, {staged, to, some});
    from += some;
    to += some;
    bytes -= some;
  }
}

void GpuQueue::upload_all(std::span<const DeviceBytes> pieces) {
  // Bytes that take a few launches; a copy takes longer than one launch.
  constexpr size_t kShort = 8192;
  std::vector<DeviceBytes> together;
  for (const DeviceBytes& piece : pieces) {
    if (piece.bytes <= kShort && whole_words(piece)) {
      together.push_back(piece);
    } else {
      upload(piece.from, piece.to, piece.bytes);
    }
  }
  make_current();
  send_pieces(stream_, together);
}

void GpuQueue::download(const void* device, void* host, size_t bytes) {
  make_current();
  timed([&] {  // a copy to memory that is not pinned waits by itself
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_),
          "copy from the GPU");
  });
  synchronize();
}

/// Copies to memory that is not pinned wait, so the bytes arrive in pinned memory first. If it is
/// full, this waits.
void GpuQueue::begin_download(const void* device, void* host, size_t bytes) {
  constexpr size_t kAlignment = 64;
  if (downloads_.empty()) arrivals_used_ = 0;
  if (bytes > kArrivalBytes - arrivals_used_) return download(device, host, bytes);
  make_current();
  std::byte* const arrived = arrivals_ + arrivals_used_;
  check(cudaMemcpyAsync(arrived, device, bytes, cudaMemcpyDeviceToHost, stream_),
        "copy from the GPU");
  arrivals_used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  downloads_.push_back({events_ + 1, arrived, host, bytes});
}

void GpuQueue::end_downloads(uint64_t event) {
  ++waits_;
  wait_for(event);
  for (; !downloads_.empty() && downloads_.front().event <= event; downloads_.pop_front()) {
    const Download& each = downloads_.front();
    std::memcpy(each.host, each.arrived, each.bytes);
  }
}

void GpuQueue::copy(const void* from, void* to, size_t bytes) {
  make_current();
  // A kernel starts sooner after a kernel than a copy does.
  constexpr size_t kShort = size_t{1} << 20;
  const DeviceBytes piece{from, to, bytes};
  if (bytes <= kShort && whole_words(piece)) return copy_pieces(stream_, {&piece, 1});
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copy");
}

void GpuQueue::copy_all(std::span<const DeviceBytes> pieces) {
  std::vector<DeviceBytes> together;
  for (const DeviceBytes& piece : pieces) {
    if (whole_words(piece)) {
      together.push_back(piece);
    } else {
      copy(piece.from, piece.to, piece.bytes);
    }
  }
  make_current();
  copy_pieces(stream_, together);
}

void GpuQueue::clear(void* memory, size_t bytes) {
  make_current();
  check(cudaMemsetAsync(memory, 0, bytes, stream_), "clearing memory");
}

void GpuQueue::wait() { synchronize(); }

}  // namespace longhaul::cuda
