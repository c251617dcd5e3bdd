#include "ops/core/gpu/gpu_side_copies.gpu.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/core/gpu/piece_copies.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr size_t kSideBlock = SideCopies::kBlockBytes;

/// Returns memory in huge pages whose pages exist, so that registering it takes little time.
std::byte* map_block() {
  void* const mapped = mmap(nullptr, 2 * kSideBlock, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t first = (begin + kSideBlock - 1) / kSideBlock * kSideBlock;
  if (first > begin) munmap(mapped, first - begin);
  const uintptr_t after = first + kSideBlock, end = begin + 2 * kSideBlock;
  if (end > after) munmap(reinterpret_cast<void*>(after), end - after);
  auto* const block = reinterpret_cast<std::byte*>(first);
  madvise(block, kSideBlock, MADV_HUGEPAGE);
  std::memset(block, 0, kSideBlock);
  return block;
}

/// Pieces whose host memory is adjacent, for one transfer.
struct Run {
  std::byte* host = nullptr;
  std::byte* staged = nullptr;
  size_t bytes = 0;
};

class GpuSideCopies : public SideCopies {
 public:
  explicit GpuSideCopies(GpuQueue& queue) : device_(queue.place().device), main_(queue.handle()) {
    queue.enter();
    int lowest = 0, highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "stream priorities");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, lowest), "no stream");
    check(cudaEventCreateWithFlags(&queued_, cudaEventDisableTiming), "no event");
    staging_ = DeviceBuffer(kSideBlock);
  }
  ~GpuSideCopies() override {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    for (cudaEvent_t event : events_) {
      // Destroying a null event would leave an error for the next launch of this thread.
      if (event != nullptr) cudaEventDestroy(event);
    }
    cudaEventDestroy(queued_);
    cudaStreamDestroy(stream_);
  }
  GpuSideCopies(const GpuSideCopies&) = delete;
  GpuSideCopies& operator=(const GpuSideCopies&) = delete;

  std::byte* allocate_block() override {
    check(cudaSetDevice(device_), "cannot be used");
    std::byte* const block = map_block();
    if (cudaHostRegister(block, kSideBlock, cudaHostRegisterPortable) != cudaSuccess) {
      cudaGetLastError();
      munmap(block, kSideBlock);
      throw std::bad_alloc();
    }
    return block;
  }
  void release_block(std::byte* block) noexcept override {
    cudaHostUnregister(block);
    munmap(block, kSideBlock);
  }

  void follow_queue() override {
    check(cudaEventRecord(queued_, main_), "event");
    check(cudaStreamWaitEvent(stream_, queued_, 0), "event");
  }

  uint64_t download(std::span<const DeviceBytes> pieces) override {
    check(cudaSetDevice(device_), "cannot be used");
    const std::vector<Run> runs = stage(pieces, true);
    copy_staged(gathers_);
    for (const Run& run : runs) {
      check(cudaMemcpyAsync(run.host, run.staged, run.bytes, cudaMemcpyDeviceToHost, stream_),
            "copy from the GPU");
    }
    return record();
  }
  uint64_t upload(std::span<const DeviceBytes> pieces) override {
    check(cudaSetDevice(device_), "cannot be used");
    for (const Run& run : stage(pieces, false)) {
      check(cudaMemcpyAsync(run.staged, run.host, run.bytes, cudaMemcpyHostToDevice, stream_),
            "copy to the GPU");
    }
    copy_staged(gathers_);
    return record();
  }

  void wait_for(uint64_t event) override {
    if (event <= reached_) return;
    LH_ASSERT(event <= recorded_ && event + kEvents > recorded_);
    check(cudaSetDevice(device_), "cannot be used");
    check(cudaEventSynchronize(events_[event % kEvents]), "copies of the GPU");
    reached_ = event;
  }

 private:
  /// Places the pieces in the staging buffer in the order of the host's memory, and sets gathers_
  /// to the copies between it and the device's memory.
  std::vector<Run> stage(std::span<const DeviceBytes> pieces, bool down) {
    std::vector<Run> runs;
    gathers_.clear();
    std::byte* next = staging_.data();
    for (const DeviceBytes& piece : pieces) {
      const void* const host_side = down ? piece.to : piece.from;
      auto* const host = static_cast<std::byte*>(const_cast<void*>(host_side));
      const bool adjacent = !runs.empty() && runs.back().host + runs.back().bytes == host;
      if (!adjacent) {
        next = staging_.data() + (static_cast<size_t>(next - staging_.data()) + 15) / 16 * 16;
        runs.push_back({host, next, 0});
      }
      LH_ASSERT(next + piece.bytes <= staging_.data() + kSideBlock);
      gathers_.push_back(down ? DeviceBytes{piece.from, next, piece.bytes}
                              : DeviceBytes{next, piece.to, piece.bytes});
      runs.back().bytes += piece.bytes;
      next += piece.bytes;
    }
    return runs;
  }

  void copy_staged(std::span<const DeviceBytes> pieces) {
    std::vector<DeviceBytes> together;
    for (const DeviceBytes& piece : pieces) {
      if (whole_words(piece)) {
        together.push_back(piece);
      } else {
        check(cudaMemcpyAsync(piece.to, piece.from, piece.bytes, cudaMemcpyDeviceToDevice, stream_),
              "copy");
      }
    }
    copy_pieces(stream_, together);
  }

  /// Events are reused: fewer than kEvents batches are on their way at a time.
  uint64_t record() {
    cudaEvent_t& event = events_[(recorded_ + 1) % kEvents];
    if (event == nullptr) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
            "no event");
    }
    check(cudaEventRecord(event, stream_), "event");
    return ++recorded_;
  }

  static constexpr size_t kEvents = 64;
  const int device_;
  const cudaStream_t main_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t queued_ = nullptr;  ///< only the thread of the queue uses it
  DeviceBuffer staging_;
  std::vector<DeviceBytes> gathers_;
  std::vector<cudaEvent_t> events_ = std::vector<cudaEvent_t>(kEvents);
  uint64_t recorded_ = 0, reached_ = 0;
};

}  // namespace

std::unique_ptr<SideCopies> make_side_copies(GpuQueue& queue) {
  return std::make_unique<GpuSideCopies>(queue);
}

}  // namespace longhaul::cuda
