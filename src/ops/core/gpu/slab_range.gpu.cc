#include "ops/core/gpu/slab_range.gpu.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/units.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr size_t kSlab = DeviceQueue::kSlabBytes;

/// Finds driver functions by name, since the program is not linked with the driver.
template <class F>
F* entry(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result), name);
  if (result != cudaDriverEntryPointSuccess) user_error("the GPU's driver has no {}", name);
  return reinterpret_cast<F*>(function);
}

struct Driver {
  decltype(::cuMemAddressReserve)* reserve =
      entry<decltype(::cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(::cuMemAddressFree)* free_range =
      entry<decltype(::cuMemAddressFree)>("cuMemAddressFree");
  decltype(::cuMemCreate)* create = entry<decltype(::cuMemCreate)>("cuMemCreate");
  decltype(::cuMemRelease)* drop = entry<decltype(::cuMemRelease)>("cuMemRelease");
  decltype(::cuMemMap)* map = entry<decltype(::cuMemMap)>("cuMemMap");
  decltype(::cuMemUnmap)* unmap = entry<decltype(::cuMemUnmap)>("cuMemUnmap");
  decltype(::cuMemSetAccess)* set_access = entry<decltype(::cuMemSetAccess)>("cuMemSetAccess");
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

void require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS)
    user_error("GPU memory: {}: error {}", what, static_cast<int>(result));
}

CUdeviceptr at(const std::byte* address) { return reinterpret_cast<CUdeviceptr>(address); }

}  // namespace

SlabRange::SlabRange(int device, size_t memory) : device_(device), slots_(memory / kSlab + 1) {
  CUdeviceptr address = 0;
  require(driver().reserve(&address, bytes(), kSlab, 0, 0), "no range of addresses");
  base_ = reinterpret_cast<std::byte*>(address);
  handles_.resize(slots_, 0);
}

SlabRange::~SlabRange() {
  LH_ASSERT(free_.size() == next_);
  driver().free_range(at(base_), bytes());
}

void* SlabRange::acquire() {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  CUmemGenericAllocationHandle memory = 0;
  CUresult result = driver().create(&memory, kSlab, &kind, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {  // the activation pool may hold free memory
    cudaMemPool_t pool = nullptr;
    check(cudaDeviceGetDefaultMemPool(&pool, device_), "memory pool");
    check(cudaDeviceSynchronize(), "work on the GPU");
    check(cudaMemPoolTrimTo(pool, 0), "memory pool");
    result = driver().create(&memory, kSlab, &kind, 0);
  }
  if (result != CUDA_SUCCESS || (free_.empty() && next_ == slots_)) {
    user_error(
        "GPU {}: its memory is full of keys and values; try a shorter text, --kv-type q8_0 or "
        "an attention method that keeps less",
        device_);
  }
  if (free_.empty()) free_.push_back(next_++);
  const size_t slot = free_.back();
  std::byte* const slab = base_ + slot * kSlab;
  require(driver().map(at(slab), kSlab, 0, memory, 0), "mapping");
  CUmemAccessDesc access{};
  access.location = kind.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  require(driver().set_access(at(slab), kSlab, &access, 1), "access");
  free_.pop_back();
  handles_[slot] = memory;
  return slab;
}

void SlabRange::release(void* slab) noexcept {
  const auto slot = static_cast<size_t>(static_cast<std::byte*>(slab) - base_) / kSlab;
  driver().unmap(at(base_ + slot * kSlab), kSlab);
  driver().drop(handles_[slot]);
  free_.push_back(slot);
}

}  // namespace longhaul::cuda
