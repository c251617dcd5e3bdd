#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <vector>

#include "ops/cuda/attend.h"
#include "ops/cuda/attend_kernels.h"
#include "ops/cuda/attend_plan.h"
#include "ops/cuda/device_error.h"

namespace longhaul::cuda {
namespace {

/// Pinned memory of one plan on its way, free again when its event has passed.
struct PinnedPlan {
  std::byte* data = nullptr;
  size_t bytes = 0;
  cudaEvent_t copied = nullptr;
};

/// Device memory that grows in the order of the stream, without a wait.
struct Growing {
  std::byte* data = nullptr;
  size_t bytes = 0;

  std::byte* reserve(cudaStream_t stream, size_t wanted) {
    if (wanted <= bytes) return data;
    if (data != nullptr) check(cudaFreeAsync(data, stream), "cudaFreeAsync");
    data = nullptr;
    bytes = 0;
    const size_t grown = wanted + wanted / 2 + (size_t{1} << 16);
    void* memory = nullptr;
    check(cudaMallocAsync(&memory, grown, stream), "cudaMallocAsync");
    data = static_cast<std::byte*>(memory);
    bytes = grown;
    return data;
  }
};

CUtensorMap page_map(const PageRange& pages, int head_dim) {
  static const auto encode = [] {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult found;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault,
                                           &found),
          "cuTensorMapEncodeTiled");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(f);
  }();
  const cuuint64_t row = 2 * static_cast<cuuint64_t>(head_dim);
  const cuuint64_t size[2] = {row / 2, pages.bytes / row}, stride[1] = {row};
  const cuuint32_t box[2] = {64, kPageRows}, step[2] = {1, 1};
  CUtensorMap map;
  if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<std::byte*>(pages.base), size,
             stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    throw DeviceError("CUDA: cuTensorMapEncodeTiled refuses the range of pages");
  }
  return map;
}

RotationTable rotation_table(const Rotations* r) {
  if (r == nullptr) return {};
  const auto aligned = [](const float* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  const int half = r->rotary_dim / 2;
  return {r->cosine, r->sine, r->first, half,
          half % 8 == 0 && aligned(r->cosine) && aligned(r->sine)};
}

}  // namespace

struct Scratch::Impl {
  AttendPlan plan;
  AttendMachine machine;
  DeviceLimits limits;
  bool hopper = false;
  std::vector<PinnedPlan> ring;
  Growing plans, partials;
  PageMap map{};  ///< of `mapped`
  PageRange mapped;
  int mapped_dim = 0;

  Impl() {
    int device = 0, major = 0, minor = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    const auto ask = [&](int& number, cudaDeviceAttr what) {
      check(cudaDeviceGetAttribute(&number, what, device), "cudaDeviceGetAttribute");
    };
    ask(machine.processors, cudaDevAttrMultiProcessorCount);
    ask(limits.shared_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    ask(limits.shared_per_processor, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    ask(major, cudaDevAttrComputeCapabilityMajor);
    ask(minor, cudaDevAttrComputeCapabilityMinor);
    hopper = major == 9 && minor == 0;
  }

  /// Nothing that is still read may go: waits for the device, at the end of a session only.
  ~Impl() {
    cudaDeviceSynchronize();
    for (PinnedPlan& p : ring) {
      cudaFreeHost(p.data);
      cudaEventDestroy(p.copied);
    }
    cudaFree(plans.data);
    cudaFree(partials.data);
  }

  /// A pinned plan that is not on its way any more. As many as the host is ahead of the device.
  PinnedPlan& pinned(size_t bytes) {
    PinnedPlan* free = nullptr;
    for (PinnedPlan& p : ring) {
      if (cudaEventQuery(p.copied) == cudaSuccess && (free == nullptr || p.bytes > free->bytes)) {
        free = &p;
        if (p.bytes >= bytes) break;
      }
    }
    cudaGetLastError();  // an event that has not passed is no error of the next launch
    if (free == nullptr) {
      free = &ring.emplace_back();
      check(cudaEventCreateWithFlags(&free->copied, cudaEventDisableTiming), "cudaEventCreate");
    }
    if (free->bytes < bytes) {
      if (free->data != nullptr) check(cudaFreeHost(free->data), "cudaFreeHost");
      free->data = nullptr;
      free->bytes = 0;
      void* memory = nullptr;
      check(cudaMallocHost(&memory, bytes + bytes / 2), "cudaMallocHost");
      free->data = static_cast<std::byte*>(memory);
      free->bytes = bytes + bytes / 2;
    }
    return *free;
  }

  const std::byte* upload(cudaStream_t stream) {
    const size_t bytes = plan.layout().bytes;
    PinnedPlan& from = pinned(bytes);
    std::byte* to = plans.reserve(stream, bytes);
    plan.pack(from.data, to);
    check(cudaMemcpyAsync(to, from.data, bytes, cudaMemcpyHostToDevice, stream), "plan's upload");
    check(cudaEventRecord(from.copied, stream), "cudaEventRecord");
    return to;
  }

  const PageMap& map_of(const PageRange& pages, int head_dim) {
    if (mapped.base != pages.base || mapped.bytes != pages.bytes || mapped_dim != head_dim) {
      map = {page_map(pages, head_dim), pages.base};
      mapped = pages;
      mapped_dim = head_dim;
    }
    return map;
  }
};

Scratch::Scratch() : impl_(std::make_unique<Impl>()) {}
Scratch::~Scratch() = default;

void attend(CUstream_st* stream, const AttendCall& call, std::span<const AttendTask> tasks,
            Scratch& scratch) {
  Scratch::Impl& s = scratch.impl();
  s.machine.sm90 = s.hopper && scratch.allow_sm90;
  s.machine.pages = scratch.pages;
  AttendPlan& plan = s.plan;
  plan.make(call, tasks, s.machine);
  if (plan.sm90().empty() && plan.tiles().empty() && plan.few().empty()) return;
  const std::byte* at = s.upload(stream);
  const AttendPlan::Layout layout = plan.layout();
  const auto records = [&]<class T>(const std::vector<T>&, size_t offset) {
    return reinterpret_cast<const T*>(at + offset);
  };

  AttendArgs args{};
  args.segments = reinterpret_cast<const SegmentRecord*>(at + layout.segments);
  args.out = call.out.address();
  args.lse = call.lse.empty() ? nullptr : call.lse.address();
  args.partial = reinterpret_cast<float*>(
      s.partials.reserve(stream, static_cast<size_t>(plan.partial_floats()) * sizeof(float)));
  args.rotations = rotation_table(call.rotations);
  args.heads = call.heads;
  args.scale = call.scale * 1.44269504089f;
  const auto count = [](const auto& units) { return static_cast<int>(units.size()); };
  if (!plan.sm90().empty()) {
    launch_attend_tile_sm90(stream, args, s.map_of(scratch.pages, call.head_dim),
                            records(plan.sm90(), layout.sm90), count(plan.sm90()), call.head_dim);
  }
  if (!plan.tiles().empty()) {
    launch_attend_tile(stream, args, records(plan.tiles(), layout.tiles), count(plan.tiles()),
                       call.head_dim);
  }
  if (!plan.few().empty()) {
    launch_attend_few(stream, args, records(plan.few(), layout.few), count(plan.few()),
                      call.head_dim, s.limits);
  }
  if (!plan.merges().empty()) {
    launch_merge_parts(stream, args, records(plan.merges(), layout.merges), count(plan.merges()),
                       plan.most_merge_rows(), call.head_dim);
  }
}

}  // namespace longhaul::cuda
