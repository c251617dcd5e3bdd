#pragma once
// A device that computes nothing: it measures what the host does for a device. Its memory is never
// touched, so a large batch fits into a small machine. Every operation that a decode step needs is
// counted, and attention and appends prepare the records that a GPU gets.

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "attention/methods/keydiff/key_difference.h"
#include "attention/methods/roco/steady_scores.h"
#include "ops/attention/attend_plan.h"
#include "ops/attention/row_moves.h"
#include "ops/choose/pool_scores.h"
#include "ops/choose/select_rows.h"
#include "ops/core/best_logits.h"
#include "ops/core/device_ops.h"
#include "ops/core/fill.h"
#include "ops/maps/column_sums.h"

namespace longhaul::bench_support {

class SilentMatrix : public DeviceMatrix {
 public:
  explicit SilentMatrix(std::span<const TensorView> parts) : cols_(parts.front().cols()) {
    for (const TensorView& part : parts) rows_ += part.rows();
  }
  int64_t rows() const override { return rows_; }
  int64_t cols() const override { return cols_; }
  size_t bytes() const override { return 0; }

 private:
  int64_t rows_ = 0, cols_ = 0;
};

struct SilentInput : DeviceInput {};

class SilentOps : public DeviceOps {
 public:
  explicit SilentOps(int64_t& launches) : launches_(launches) {}
  std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView> parts) override {
    return std::make_shared<SilentMatrix>(parts);
  }
  std::unique_ptr<DeviceInput> input(Compute) override { return std::make_unique<SilentInput>(); }
  void linear(const DeviceInput&, std::span<const DeviceLinear>) override { ++launches_; }
  void linear_back(const DeviceInput&, const DeviceMatrix&, bool, View<float>) override {
    ++launches_;
  }
  void embed(const DeviceMatrix&, std::span<const int32_t>, float, View<float>) override {
    ++launches_;
  }
  void rms_norm_heads(View<float>, View<const float>, float, int64_t, int, int) override {
    ++launches_;
  }
  void grow_queries(View<float>, int64_t, int64_t, int64_t, const QueryGrowth&) override {
    ++launches_;
  }
  void add_scaled(View<const float>, View<const float>, float, float, int64_t, int64_t,
                  View<float>) override {
    ++launches_;
  }
  void scale_and_cap(View<float>, float, float) override { ++launches_; }
  void mix_experts(const DeviceInput&, View<const float>, const DeviceExperts&, View<float>,
                   bool) override {
    ++launches_;
  }
  void rms_norm(View<const float>, View<const float>, float, int64_t, int64_t,
                DeviceInput&) override {
    ++launches_;
  }
  void swiglu(View<const float>, View<const float>, const Gating&, int64_t, int64_t,
              DeviceInput&) override {
    ++launches_;
  }
  void take(View<const float>, int64_t, int64_t, DeviceInput&) override { ++launches_; }

 private:
  int64_t& launches_;
};

class SilentDevice : public DeviceQueue {
 public:
  SilentDevice() { implement(); }

  int64_t launches = 0;  ///< kernels and copies that a GPU would be given

  Place place() const override { return {0}; }
  std::string name() const override { return "a silent device"; }
  size_t free_bytes() const override { return size_t{1} << 42; }
  void* allocate(size_t bytes) override { return aligned(256, (bytes + 255) / 256 * 256); }
  void release(void* memory) noexcept override { std::free(memory); }
  void* allocate_slab() override { return aligned(kSlabBytes, kSlabBytes); }
  void release_slab(void* slab) noexcept override { std::free(slab); }
  void upload(const void*, void*, size_t) override { ++launches; }
  void upload_all(std::span<const DeviceBytes>) override { ++launches; }
  void download(const void*, void*, size_t) override { ++launches; }
  void copy(const void*, void*, size_t) override { ++launches; }
  void copy_all(std::span<const DeviceBytes>) override { ++launches; }
  void clear(void*, size_t) override { ++launches; }
  void wait() override {}
  int64_t waits() const override { return 0; }
  DeviceOps& ops() override { return ops_; }

 private:
  static void* aligned(size_t alignment, size_t bytes) {
    void* const memory = std::aligned_alloc(alignment, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }

  template <class Signature>
  void count(const DeviceOperation<Signature>& operation) {
    operations().set(operation, [this](const auto&...) {
      ++launches;
      return true;
    });
  }

  void implement() {
    count(kAttend);
    count(kColumnSums);
    count(kKeyDifference);
    count(kPoolScores);
    count(kSelectRows);
    count(kSteadyScores);
    count(kAddSeen);
    count(kFill);
    count(kAddLists);
    count(kSumGroups);
    count(kRotations);
    count(kRotate);
    count(kKeepRows);
    count(kBestLogits);
    operations().set(kAttendAll, [this](std::span<const AttendJob> jobs) {
      attend_all(jobs);
      return true;
    });
    operations().set(kAppendRows, [this](std::span<const DeviceAppend> all) {
      append(all);
      return true;
    });
  }

  /// The host's part of the GPU's operation: the plan, packed for its upload.
  void attend_all(std::span<const AttendJob> jobs) {
    left_.clear();
    for (const AttendJob& job : jobs) left_.push_back(&job);
    while (!left_.empty()) {
      cuda::take_joinable(left_, joined_);
      plan_.make(joined_, {.processors = 132, .sm90 = true, .pages = {}});
      packed_.resize(plan_.layout().bytes);
      plan_.same_division() ? plan_.pack_segments(packed_.data(), packed_.data())
                            : plan_.pack(packed_.data(), packed_.data());
      launches += 2;  // the upload and the kernel
      launches += plan_.merges().empty() ? 0 : 1;
    }
  }

  void append(std::span<const DeviceAppend> all) {
    ++launches;
    addresses_.clear();
    for (const DeviceAppend& added : all) {
      for (size_t i = 0; i < added.lists.size(); ++i) {
        addresses_.push_back({added.lists[i].listed, added.first[i]});
      }
    }
  }

  struct Address {
    const std::byte* const* pages;
    int64_t first;
  };
  SilentOps ops_{launches};
  std::vector<const AttendJob*> left_;
  std::vector<AttendJob> joined_;
  cuda::AttendPlan plan_;
  std::vector<std::byte> packed_;
  std::vector<Address> addresses_;
};

}  // namespace longhaul::bench_support
