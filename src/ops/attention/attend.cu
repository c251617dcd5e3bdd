#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <vector>

#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_kernels.gpu.h"
#include "ops/attention/attend_plan.h"
#include "ops/attention/page_map.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/piece_copies.gpu.h"

namespace longhaul::cuda {
namespace {

/// Pinned memory for uploads of plans. It has four stretches; a stretch is reused once the device
/// has copied its contents.
class PinnedRing {
 public:
  ~PinnedRing() { release(); }

  std::byte* take(cudaStream_t stream, size_t bytes) {
    if (bytes > bytes_) grow(bytes);
    if (used_ + bytes > bytes_) {
      check(cudaEventRecord(copied_[at_], stream), "cudaEventRecord");
      at_ = (at_ + 1) % kStretches;
      check(cudaEventSynchronize(copied_[at_]), "a plan's upload");
      used_ = 0;
    }
    std::byte* const taken = memory_ + at_ * bytes_ + used_;
    used_ += bytes;
    return taken;
  }

 private:
  static constexpr size_t kStretches = 4, kLeastBytes = size_t{1} << 20;

  void grow(size_t wanted) {
    release();
    bytes_ = std::max(kLeastBytes, 2 * wanted);
    void* memory = nullptr;
    check(cudaMallocHost(&memory, kStretches * bytes_), "cudaMallocHost");
    memory_ = static_cast<std::byte*>(memory);
    for (cudaEvent_t& event : copied_) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    }
    at_ = used_ = 0;
  }
  /// Waits for the device, since copies may be in flight.
  void release() {
    if (memory_ == nullptr) return;
    cudaDeviceSynchronize();
    for (cudaEvent_t event : copied_) cudaEventDestroy(event);
    cudaFreeHost(memory_);
    memory_ = nullptr;
    bytes_ = 0;
  }

  std::byte* memory_ = nullptr;
  size_t bytes_ = 0, used_ = 0, at_ = 0;  ///< bytes per stretch; used bytes of stretch at_
  std::array<cudaEvent_t, kStretches> copied_{};
};

/// Device memory that grows in stream order, without a wait.
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

}  // namespace

struct Scratch::Impl {
  AttendPlan plan;
  AttendMachine machine;
  DeviceLimits limits;
  bool hopper = false;
  PinnedRing ring;
  Growing plans, partials, counters;
  size_t uploaded = 0;  ///< bytes of the plan in `plans`; 0: it is not the plan of the last call
  PageMap map{};        ///< map of the pages `mapped`
  PageRange mapped;
  int mapped_dim = 0;
  PageMap wide_map{};  ///< map of the pages `wide_mapped`, for wide heads
  PageRange wide_mapped;
  int wide_dim = 0;

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

  /// Waits for the device, since buffers may still be read. This happens only at the end of a
  /// session.
  ~Impl() {
    cudaDeviceSynchronize();
    cudaFree(plans.data);
    cudaFree(partials.data);
    cudaFree(counters.data);
  }

  /// The decode part of the plan. `at`: address of the uploaded plan, or null if it is not
  /// uploaded.
  DecodePlan decode_plan(const std::byte* at) const {
    DecodePlan decode;
    const AttendPlan::Layout layout = plan.layout();
    decode.packed = at;
    decode.units = static_cast<uint32_t>(layout.decode);
    decode.count = static_cast<int32_t>(plan.decode().size());
    const AttendPlan::Stored stored = plan.stored();
    decode.key_bytes = stored.key_bytes;
    decode.value_bytes = stored.value_bytes;
    decode.blocks = stored.blocks;
    decode.turns = plan.turns();
    if (at == nullptr) plan.pack(decode.here, nullptr);
    return decode;
  }

  /// Uploads the plan. If only its segments differ from those of the uploaded plan, it uploads them
  /// alone.
  std::byte* upload(cudaStream_t stream) {
    const AttendPlan::Layout layout = plan.layout();
    const std::byte* const before = plans.data;
    std::byte* const to = plans.reserve(stream, layout.bytes);
    const bool alone = plan.same_division() && uploaded == layout.bytes && to == before &&
                       layout.pages == layout.bytes;
    const size_t bytes = alone ? layout.counts : layout.bytes;
    std::byte* const from = ring.take(stream, bytes);
    alone ? plan.pack_segments(from, to) : plan.pack(from, to);
    send_pinned(stream, {from, to, bytes});
    uploaded = layout.bytes;
    return to;
  }

  /// A counter per unit that its last part merges. Counters start at zero, and every launch leaves
  /// them at zero.
  int32_t* counters_of(cudaStream_t stream, int count) {
    const size_t before = counters.bytes;
    std::byte* const at = counters.reserve(stream, static_cast<size_t>(count) * sizeof(int32_t));
    if (counters.bytes != before)
      check(cudaMemsetAsync(at, 0, counters.bytes, stream), "cudaMemsetAsync");
    return reinterpret_cast<int32_t*>(at);
  }

  const PageMap& map_of(const PageRange& pages, int head_dim) {
    if (is_wide(head_dim)) {
      if (wide_mapped.base != pages.base || wide_mapped.bytes != pages.bytes ||
          wide_dim != head_dim) {
        wide_map = wide_page_map(pages, head_dim);
        wide_mapped = pages;
        wide_dim = head_dim;
      }
      return wide_map;
    }
    if (mapped.base != pages.base || mapped.bytes != pages.bytes ||
        mapped.page_bytes != pages.page_bytes || mapped_dim != head_dim) {
      map = page_map(pages, head_dim, kPageRows);
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
  const AttendJob job{call, tasks};
  attend(stream, {&job, 1}, scratch);
}

void attend(CUstream_st* stream, std::span<const AttendJob> jobs, Scratch& scratch) {
  const AttendCall& call = jobs.front().call;
  Scratch::Impl& s = scratch.impl();
  s.machine.sm90 = s.hopper && scratch.allow_sm90;
  s.machine.pages = scratch.pages;
  AttendPlan& plan = s.plan;
  plan.make(jobs, s.machine);
  if (plan.sm90().empty() && plan.masked().empty() && plan.tiles().empty() && plan.decode().empty())
    return;
  const AttendPlan::Layout layout = plan.layout();
  const bool here = plan.decode_alone() && layout.bytes <= DecodePlan::kMostHere;
  if (here) s.uploaded = 0;
  std::byte* const at = here ? nullptr : s.upload(stream);
  const auto records = [&]<class T>(const std::vector<T>&, size_t offset) {
    return reinterpret_cast<const T*>(at + offset);
  };

  AttendArgs args{};
  args.segments = reinterpret_cast<const SegmentRecord*>(at + layout.segments);
  args.out = call.out.address();
  args.lse = call.lse.empty() ? nullptr : call.lse.address();
  LH_ASSERT(call.sinks.empty() || (!call.sinks.place().host() && call.sinks.size() == call.heads));
  args.sinks = call.sinks.empty() ? nullptr : call.sinks.address();
  args.partial = reinterpret_cast<float*>(
      s.partials.reserve(stream, static_cast<size_t>(plan.partial_floats()) * sizeof(float)));
  args.counters = s.counters_of(stream, plan.counters());
  args.rotations = rotation_table(call.rotations);
  args.heads = call.heads;
  args.head_dim = call.head_dim;
  args.logits = logit_form(call.scale, call.cap);
  const auto count = [](const auto& units) { return static_cast<int>(units.size()); };
  if (!plan.counts().empty()) {
    launch_resolve_counts(stream, records(plan.counts(), layout.counts), count(plan.counts()),
                          reinterpret_cast<SegmentRecord*>(at + layout.segments),
                          call.counted.address());
  }
  if (!plan.sm90().empty()) {
    launch_attend_tile_sm90(stream, args, s.map_of(s.machine.pages, call.head_dim),
                            records(plan.sm90(), layout.sm90), count(plan.sm90()), call.head_dim);
  }
  if (!plan.masked().empty()) {
    launch_attend_masked_sm90(stream, args, s.map_of(s.machine.pages, call.head_dim),
                              records(plan.masked(), layout.masked), count(plan.masked()),
                              call.head_dim);
  }
  if (!plan.tiles().empty()) {
    const UnitRecord* const units = records(plan.tiles(), layout.tiles);
    if (is_wide(call.head_dim)) {
      launch_attend_wide(stream, args, s.map_of(s.machine.pages, call.head_dim), units,
                         count(plan.tiles()), call.head_dim);
    } else {
      launch_attend_tile(stream, args, units, count(plan.tiles()), call.head_dim);
    }
  }
  if (!plan.decode().empty()) {
    launch_attend_decode(stream, args, s.decode_plan(at), plan.decode_blocks(), s.limits);
  }
  if (!plan.merges().empty()) {
    launch_merge_parts(stream, args, records(plan.merges(), layout.merges), count(plan.merges()),
                       plan.most_merge_rows(), plan.most_merge_parts(), call.head_dim);
  }
}

}  // namespace longhaul::cuda
