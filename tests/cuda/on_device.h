#pragma once
// Arrays of tests in device memory between guard areas that no kernel may write. Unset values are
// NaN.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {

template <class T>
class OnDevice {
 public:
  static constexpr size_t kSpare = 1024;  // bytes of each guard area

  /// `count` values of bytes 0xff, `shift` elements off the 16-byte alignment.
  explicit OnDevice(size_t count, size_t shift = 0)
      : count_(count), first_(kSpare + shift * sizeof(T)), memory_(bytes()) {
    check(cudaMemset(memory_.data(), 0xff, bytes()), "cudaMemset");
  }
  explicit OnDevice(const std::vector<T>& values, size_t shift = 0)
      : OnDevice(values.size(), shift) {
    set(values);
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data() + first_); }
  void set(const std::vector<T>& values) {
    ASSERT_EQ(values.size(), count_);
    if (count_ == 0) return;
    check(cudaMemcpy(data(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "set");
  }
  /// Waits, checks that the guard areas are unchanged, and returns the values.
  std::vector<T> get() const {
    check(cudaDeviceSynchronize(), "kernel");
    std::vector<std::byte> all(bytes());
    check(cudaMemcpy(all.data(), memory_.data(), all.size(), cudaMemcpyDeviceToHost), "get");
    const size_t end = first_ + count_ * sizeof(T);
    for (size_t i = 0; i < all.size(); ++i) {
      if (i < first_ || i >= end) {
        EXPECT_EQ(all[i], std::byte{0xff})
            << "byte " << static_cast<int64_t>(i - first_) << " of " << count_ * sizeof(T);
        if (all[i] != std::byte{0xff}) break;
      }
    }
    std::vector<T> values(count_);
    if (count_ > 0) std::memcpy(values.data(), all.data() + first_, count_ * sizeof(T));
    return values;
  }

 private:
  size_t bytes() const { return first_ + count_ * sizeof(T) + kSpare; }
  size_t count_, first_;
  DeviceBuffer memory_;
};

inline std::vector<float> random_floats(size_t count, uint32_t seed, float size = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// Whether kernels for compute capability 9.0 run on this machine.
inline bool is_hopper() {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "attribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "attribute");
  return major == 9 && minor == 0;
}

/// Checks |got - expected| <= relative * |expected| + absolute for every element.
inline void expect_close(const std::vector<float>& got, const std::vector<float>& expected,
                         double relative, double absolute) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double e = static_cast<double>(expected[i]);
    ASSERT_NEAR(static_cast<double>(got[i]), e, relative * std::abs(e) + absolute) << i;
  }
}

}  // namespace longhaul::cuda
