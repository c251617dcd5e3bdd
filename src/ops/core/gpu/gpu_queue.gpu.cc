#include "ops/core/gpu/gpu_queue.gpu.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "ops/core/gpu/cuda_ops.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/piece_copies.gpu.h"

namespace longhaul::cuda {

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
  slabs_ = std::make_unique<SlabRange>(device, properties.totalGlobalMem);
  ops_ = make_ops(*this);
}

GpuQueue::~GpuQueue() {
  cudaSetDevice(device_);
  cudaStreamSynchronize(stream_);
  ops_.reset();
  slabs_.reset();
  for (const Stage& stage : stages_) {
    cudaFreeHost(stage.memory);
    cudaEventDestroy(stage.done);
  }
  cudaStreamDestroy(stream_);
}

/// CUDA's current device is per thread.
void GpuQueue::make_current() const { check(cudaSetDevice(device_), "cannot be used"); }

size_t GpuQueue::free_bytes() const { return memory_left() + copies_->bytes(); }

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
  constexpr int64_t kSeldom = 8;  // the driver query takes as long as some kernels
  if (slabs_taken_++ % kSeldom == 0) keep_room(kSeldom * kSlabBytes);
  return slabs_->acquire();
}

/// Drops copies of weights before memory runs out. Some memory is allocated elsewhere, where copies
/// cannot be dropped.
void GpuQueue::keep_room(size_t bytes) {
  constexpr size_t kLeast = size_t{1} << 30;
  if (copies_->bytes() > 0 && memory_left() < bytes + kLeast) give_up_copies();
}

/// Returns false if there were no copies.
bool GpuQueue::give_up_copies() {
  if (copies_->bytes() == 0) return false;
  copies_->give_up();
  return true;
}

/// Waits, since queued work may read the slab.
void GpuQueue::release_slab(void* slab) noexcept {
  cudaStreamSynchronize(stream_);
  slabs_->release(slab);
}

std::byte* GpuQueue::stage(size_t bytes) {
  LH_ASSERT(bytes <= kStageBytes);
  constexpr size_t kAlignment = 256;
  Stage* stage = &stages_[stage_];
  if (stage->used + bytes > kStageBytes) {
    check(cudaEventRecord(stage->done, stream_), "event");
    stage_ = (stage_ + 1) % stages_.size();
    stage = &stages_[stage_];
    check(cudaEventSynchronize(stage->done), "staging");  // for the copies of three stages ago
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
  ++waits_;
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "copy from the GPU");
  check(cudaStreamSynchronize(stream_), "work on the GPU");
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

void GpuQueue::wait() {
  ++waits_;
  check(cudaStreamSynchronize(stream_), "work on the GPU");
}

}  // namespace longhaul::cuda
