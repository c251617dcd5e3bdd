#pragma once
// A device whose memory is host memory with another place. Unrequested accesses by the host
// (base/host_stage.h) fail an assertion, and new memory contains NaN. It has the operations that
// every device must have. Tests add others to its table.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "ops/core/add.h"
#include "ops/core/device_ops.h"
#include "ops/core/rms_norm.h"
#include "ops/core/soft_cap.h"
#include "ops/grad/transposed_weight.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/experts.h"
#include "ops/matmul/linear.h"

namespace longhaul::testing_support {

class FakeMatrix : public DeviceMatrix {
 public:
  explicit FakeMatrix(std::span<const TensorView> parts) : view_(parts.front()) {
    int64_t rows = 0;
    for (const TensorView& part : parts) {
      LH_ASSERT(part.type == view_.type && part.cols() == view_.cols());
      bytes_.insert(bytes_.end(), part.data, part.data + part.bytes());
      rows += part.rows();
    }
    view_.shape = {rows, view_.cols(), 1, 1};
    view_.rank = 2;
    view_.data = bytes_.data();
  }
  int64_t rows() const override { return view_.rows(); }
  int64_t cols() const override { return view_.cols(); }
  size_t bytes() const override { return bytes_.size(); }
  const TensorView& view() const { return view_; }

 private:
  std::vector<std::byte> bytes_;
  TensorView view_;
};

/// Computes in f32, so that differences from the host's results are errors and not rounding.
struct FakeInput : DeviceInput {
  float* resize(int64_t count, int64_t width) {
    rows = count;
    cols = width;
    numbers.resize(static_cast<size_t>(rows * cols));
    return numbers.data();
  }
  int64_t rows = 0, cols = 0;
  std::vector<float> numbers;
};

class FakeOps : public DeviceOps {
 public:
  std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView> parts) override {
    return std::make_shared<FakeMatrix>(parts);
  }
  std::unique_ptr<DeviceInput> input(Compute compute) override {
    if (compute == Compute::kFp8) user_error("a fake device has no products of 8-bit floats");
    return std::make_unique<FakeInput>();
  }
  void linear(const DeviceInput& of, std::span<const DeviceLinear> products) override {
    const auto& x = static_cast<const FakeInput&>(of);
    for (const DeviceLinear& product : products) {
      const TensorView& weight = view_of(product.weight);
      LH_ASSERT(weight.cols() == x.cols);
      LinearInput rows;
      rows.assign(x.numbers.data(), x.rows, x.cols);
      LinearJob job{.weight = weight, .y = product.y.address(), .add = product.add};
      if (!product.bias.empty()) job.bias = product.bias.address();
      longhaul::linear(rows, job, Compute::kF32);
    }
  }
  void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, float scale,
             View<float> x) override {
    const TensorView& view = view_of(&table);
    float* row = x.address();
    for (const int32_t token : tokens) {
      dequantize_row(view.type, view.row(token), view.cols(), row);
      for (int64_t i = 0; i < view.cols(); ++i) row[i] *= scale;
      row += view.cols();
    }
  }
  void rms_norm(View<const float> x, View<const float> weight, float eps, int64_t rows, int64_t n,
                DeviceInput& y) override {
    longhaul::rms_norm(x.address(), weight.address(), eps, rows, n, begin(y, rows, n));
  }
  void rms_norm_heads(View<float> x, View<const float> weight, float eps, int64_t rows, int heads,
                      int head_dim) override {
    longhaul::rms_norm_heads(x.address(), weight.address(), eps, rows, heads, head_dim,
                             int64_t{heads} * head_dim);
  }
  void grow_queries(View<float> q, int64_t rows, int64_t n, int64_t first,
                    const QueryGrowth& growth) override {
    longhaul::grow_queries(q.address(), rows, n, first, growth);
  }
  void add_scaled(View<const float> y, View<const float> weight, float eps, float scale,
                  int64_t rows, int64_t n, View<float> x) override {
    std::vector<float> normed(y.address(), y.address() + rows * n);
    if (!weight.empty()) {
      longhaul::rms_norm(y.address(), weight.address(), eps, rows, n, normed.data());
    }
    longhaul::add_scaled(x.address(), normed.data(), rows * n, scale);
  }
  void scale_and_cap(View<float> x, float scale, float cap) override {
    longhaul::scale_and_cap(x.address(), x.size(), scale, cap);
  }
  void mix_experts(const DeviceInput& of, View<const float> logits, const DeviceExperts& experts,
                   View<float> y, bool add) override {
    const auto& x = static_cast<const FakeInput&>(of);
    std::vector<ExpertWeights> weights(static_cast<size_t>(experts.count));
    const bool gated = experts.gate.weight != nullptr;
    if (gated) take_apart(experts.gate, &ExpertWeights::gate, &ExpertWeights::gate_bias, weights);
    take_apart(experts.up, &ExpertWeights::up, &ExpertWeights::up_bias, weights);
    take_apart(experts.down, &ExpertWeights::down, &ExpertWeights::down_bias, weights);
    std::vector<ExpertChoice> chosen(static_cast<size_t>(x.rows * experts.used));
    choose_experts(logits.address(), x.rows, experts.count, experts.used, experts.rule,
                   chosen.data());
    LH_ASSERT(gated || experts.gating == kSquaredReluGating);
    const ExpertActivation activation{experts.gating,
                                      gated ? Ungated::kNone : Ungated::kSquaredRelu};
    ExpertMix().run(x.numbers.data(), x.rows, weights, chosen, activation, Compute::kF32,
                    y.address(), add);
  }
  void swiglu(View<const float> gate, View<const float> up, const Gating& gating, int64_t rows,
              int64_t n, DeviceInput& y) override {
    longhaul::swiglu(gate.address(), up.address(), rows, n, n, begin(y, rows, n), gating);
  }
  void take(View<const float> x, int64_t rows, int64_t n, DeviceInput& y) override {
    std::copy_n(x.address(), rows * n, begin(y, rows, n));
  }
  void linear_back(const DeviceInput& of, const DeviceMatrix& weight, bool add,
                   View<float> dx) override {
    const auto& dy = static_cast<const FakeInput&>(of);
    LH_ASSERT(weight.rows() == dy.cols && dx.size() == dy.rows * weight.cols());
    TransposedWeight turned;
    LinearInput rows;
    rows.assign(dy.numbers.data(), dy.rows, dy.cols);
    longhaul::linear(rows,
                     {.weight = turned.assign(view_of(&weight), nullptr, DType::F32),
                      .y = dx.address(),
                      .add = add},
                     Compute::kF32);
  }

 private:
  static const TensorView& view_of(const DeviceMatrix* matrix) {
    return static_cast<const FakeMatrix*>(matrix)->view();
  }
  static void take_apart(const DeviceExperts::Role& all, TensorView ExpertWeights::*matrix,
                         std::vector<float> ExpertWeights::*bias,
                         std::vector<ExpertWeights>& experts) {
    const TensorView& view = view_of(all.weight);
    const int64_t rows = view.rows() / std::ssize(experts);
    for (int64_t e = 0; e < std::ssize(experts); ++e) {
      ExpertWeights& expert = experts[static_cast<size_t>(e)];
      expert.*matrix = view.slice_rows(e * rows, rows);
      if (all.bias.empty()) continue;
      const float* const first = all.bias.address() + e * rows;
      (expert.*bias).assign(first, first + rows);
    }
  }
  static float* begin(DeviceInput& y, int64_t rows, int64_t n) {
    return static_cast<FakeInput&>(y).resize(rows, n);
  }
};

/// Asserts the rules of DeviceQueue: only the thread that made the queue, or that entered it last,
/// may use it.
class FakeDevice : public DeviceQueue {
 public:
  explicit FakeDevice(int16_t number = 0) : number_(number) {}
  ~FakeDevice() override { LH_ASSERT(held_.empty()); }
  Place place() const override { return {number_}; }
  std::string name() const override { return "a fake device"; }
  size_t free_bytes() const override { return free; }
  void* allocate(size_t bytes) override {
    LH_ASSERT(any_thread || std::this_thread::get_id() == owner_);
    if (bytes > most_at_once) user_error("{}: no room for {} bytes", name(), bytes);
    void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0xFF, bytes);
    held_.insert(memory);
    return memory;
  }
  void release(void* memory) noexcept override {
    LH_ASSERT(any_thread || std::this_thread::get_id() == owner_);
    LH_ASSERT(held_.erase(memory) == 1);
    std::free(memory);
  }
  void* allocate_slab() override {
    void* const slab = std::aligned_alloc(kSlabBytes, kSlabBytes);
    if (slab == nullptr) throw std::bad_alloc();
    held_.insert(slab);
    return slab;
  }
  void release_slab(void* slab) noexcept override { release(slab); }
  void upload(const void* host, void* device, size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
  }
  void download(const void* device, void* host, size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
    ++waits_;
  }
  void copy(const void* from, void* to, size_t bytes) override { std::memcpy(to, from, bytes); }
  void clear(void* memory, size_t bytes) override { std::memset(memory, 0, bytes); }
  void wait() override { ++waits_; }
  int64_t waits() const override { return waits_; }
  DeviceOps& ops() override { return ops_; }

  size_t free = size_t{1} << 34;  ///< reported free memory; it does not limit allocations
  bool any_thread = false;
  size_t most_at_once = SIZE_MAX;  ///< largest allocation in bytes

 private:
  const int16_t number_ = 0;
  const std::thread::id owner_ = std::this_thread::get_id();
  FakeOps ops_;
  std::set<void*> held_;
  int64_t waits_ = 0;
};

inline Queue fake_queue() { return Queue(std::make_shared<FakeDevice>()); }

}  // namespace longhaul::testing_support
