#pragma once
// A device whose memory is the host's under another place: what reads or writes its numbers on the
// host without asking (base/host_stage.h) fails an assertion, and its memory begins as NaNs. It has
// the model's operations and none of the others.

#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "base/error.h"
#include "ops/convert.h"
#include "ops/dequantize.h"
#include "ops/device_ops.h"
#include "ops/linear.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"

namespace longhaul::testing_support {

class FakeMatrix : public DeviceMatrix {
 public:
  explicit FakeMatrix(const TensorView& of) : bytes_(of.data, of.data + of.bytes()), view_(of) {
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

struct FakeInput : DeviceInput {
  bf16_t* resize(int64_t count, int64_t width) {
    rows = count;
    cols = width;
    numbers.resize(static_cast<size_t>(rows * cols));
    return numbers.data();
  }
  int64_t rows = 0, cols = 0;
  std::vector<bf16_t> numbers;
};

class FakeOps : public DeviceOps {
 public:
  std::shared_ptr<const DeviceMatrix> matrix(const TensorView& weight) override {
    return std::make_shared<FakeMatrix>(weight);
  }
  std::unique_ptr<DeviceInput> input() override { return std::make_unique<FakeInput>(); }
  void linear(const DeviceInput& of, std::span<const DeviceLinear> products) override {
    const auto& x = static_cast<const FakeInput&>(of);
    std::vector<float> from(x.numbers.size());
    bf16_to_f32(x.numbers.data(), std::ssize(from), from.data());
    for (const DeviceLinear& product : products) {
      const TensorView& weight = static_cast<const FakeMatrix*>(product.weight)->view();
      LH_ASSERT(weight.cols() == x.cols);
      LinearInput rows;
      rows.assign(from.data(), x.rows, x.cols);
      LinearJob job{.weight = weight, .y = product.y.address(), .add = product.add};
      if (!product.bias.empty()) job.bias = product.bias.address();
      longhaul::linear(rows, job, Compute::kF32);
    }
  }
  void embed(const DeviceMatrix& table, std::span<const int32_t> tokens, View<float> x) override {
    const TensorView& view = static_cast<const FakeMatrix&>(table).view();
    for (size_t i = 0; i < tokens.size(); ++i) {
      dequantize_row(view.type, view.row(tokens[i]), view.cols(),
                     x.address() + static_cast<int64_t>(i) * view.cols());
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
  void swiglu(View<const float> gate, View<const float> up, int64_t rows, int64_t n,
              DeviceInput& y) override {
    longhaul::swiglu(gate.address(), up.address(), rows, n, n, begin(y, rows, n));
  }
  void take(View<const float> x, int64_t rows, int64_t n, DeviceInput& y) override {
    f32_to_bf16(x.address(), rows * n, begin(y, rows, n));
  }

 private:
  static bf16_t* begin(DeviceInput& y, int64_t rows, int64_t n) {
    return static_cast<FakeInput&>(y).resize(rows, n);
  }
};

/// Asserts what DeviceQueue asks of those who use it: only the thread that made it may talk to it.
class FakeDevice : public DeviceQueue {
 public:
  ~FakeDevice() override { LH_ASSERT(held_.empty()); }
  Place place() const override { return {0}; }
  std::string name() const override { return "a fake device"; }
  size_t free_bytes() const override { return size_t{1} << 34; }
  void* allocate(size_t bytes) override {
    LH_ASSERT(std::this_thread::get_id() == owner_);
    void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0xFF, bytes);
    held_.insert(memory);
    return memory;
  }
  void release(void* memory) noexcept override {
    LH_ASSERT(std::this_thread::get_id() == owner_);
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
    std::memcpy(device, host, bytes);
  }
  void download(const void* device, void* host, size_t bytes) override {
    std::memcpy(host, device, bytes);
    ++waits_;
  }
  void copy(const void* from, void* to, size_t bytes) override { std::memcpy(to, from, bytes); }
  void clear(void* memory, size_t bytes) override { std::memset(memory, 0, bytes); }
  void wait() override { ++waits_; }
  int64_t waits() const override { return waits_; }
  DeviceOps& ops() override { return ops_; }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  FakeOps ops_;
  std::set<void*> held_;
  int64_t waits_ = 0;
};

inline Queue fake_queue() { return Queue(std::make_shared<FakeDevice>()); }

}  // namespace longhaul::testing_support
