#pragma once
// Runs operations of tests on a GPU's queue and counts the host's waits.

#include <gtest/gtest.h>

#include <vector>

#include "base/array.h"
#include "ops/core/devices.h"

namespace longhaul::cuda {

class OnQueue : public ::testing::Test {
 protected:
  static Queue& queue() {
    static Queue gpu = open_device("cuda");
    return gpu;
  }

  /// Copies the values to device memory until the test ends. The values have arrived when the
  /// function returns. A kernel copies short arrays, and kernels may read weights before earlier
  /// kernels have ended (ops/core/device_ops.h), so that a weight that is still being copied would
  /// be read too early.
  template <class T>
  View<T> there(const std::vector<T>& numbers) {
    const View<T> view = empty_there<T>(std::ssize(numbers));
    if (!numbers.empty()) {
      queue().device().upload(numbers.data(), view.address(), numbers.size() * sizeof(T));
      queue().device().wait();
    }
    return view;
  }
  template <class T>
  View<T> empty_there(int64_t count) {
    Array<std::byte>& memory = held_.emplace_back();
    const View<std::byte> bytes = memory.resize(queue(), count * int64_t{sizeof(T)});
    return {reinterpret_cast<T*>(bytes.address()), count, bytes.place()};
  }
  template <class T>
  static std::vector<std::remove_const_t<T>> here(const View<T>& view) {
    std::vector<std::remove_const_t<T>> numbers(static_cast<size_t>(view.size()));
    if (numbers.empty()) return numbers;
    if (view.place().host()) return {view.address(), view.address() + view.size()};
    queue().device().download(view.address(), numbers.data(), numbers.size() * sizeof(T));
    return numbers;
  }

  /// Number of times the host waits for the GPU while it calls f.
  template <class F>
  static int64_t waits_in(F&& f) {
    const int64_t before = queue().device().waits();
    f();
    return queue().device().waits() - before;
  }

 private:
  std::vector<Array<std::byte>> held_;
};

}  // namespace longhaul::cuda
