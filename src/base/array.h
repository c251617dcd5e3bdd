#pragma once
// Defines arrays in host or device memory. View refers to an array, and Array owns one. Operations
// (such as a matrix multiplication) receive views. Host code reads the elements of a view only
// through host(), which asserts that they are in host memory. The host therefore never reads device
// memory by mistake.

#include <cstdint>
#include <span>
#include <type_traits>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/device_buffer.h"
#include "base/queue.h"

namespace longhaul {

/// Refers to an array in host or device memory. Does not own the memory.
template <class T>
class View {
 public:
  View() = default;
  /// Creates a view of `size` values at `data`, in the memory of `place`.
  View(T* data, int64_t size, Place place = {}) : data_(data), size_(size), place_(place) {}
  /// Creates a view of host memory.
  View(std::span<T> numbers) : View(numbers.data(), static_cast<int64_t>(numbers.size())) {}
  /// Converts a writable view to a read-only view.
  operator View<const T>() const requires(!std::is_const_v<T>) { return {data_, size_, place_}; }

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Place place() const { return place_; }
  /// Returns values [first, first + count).
  View part(int64_t first, int64_t count) const {
    LH_ASSERT(first >= 0 && count >= 0 && first + count <= size_);
    return {data_ + first, count, place_};
  }
  View from(int64_t first) const { return part(first, size_ - first); }
  /// Returns the address of the first value, for kernels and for comparing views. Host code must
  /// not dereference it if the view is in device memory.
  T* address() const { return data_; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
  Place place_;
};

/// Returns the values of a view, which must be in host memory. Host code uses this function to read
/// and write values.
template <class T>
std::span<T> host(const View<T>& view) {
  LH_ASSERT(view.place().host());
  return {view.address(), static_cast<size_t>(view.size())};
}

/// An array that an operation owns and reuses from call to call. Its memory is on the host or on a
/// device, depending on the queue of the last resize().
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Sets the size to `count` values, whose contents are undefined. The old contents are kept only
  /// if the buffer neither grows nor moves between the host and a device.
  View<T> resize(Queue& queue, int64_t count) {
    if (queue.on_host()) {
      device_.reset();
      memory_.resize(static_cast<size_t>(count));
    } else {
      memory_ = {};
      device_.resize(queue.shared_device(), static_cast<size_t>(count) * sizeof(T));
    }
    size_ = count;
    return view();
  }

  /// Reduces the size to `count` values. Keeps the first `count` values.
  void shrink(int64_t count) {
    LH_ASSERT(count <= size_);
    size_ = count;
  }

  View<T> view() { return {data(), size_, place()}; }
  View<const T> view() const { return {data(), size_, place()}; }
  int64_t size() const { return size_; }
  size_t bytes() const { return memory_.capacity_bytes() + device_.capacity(); }

 private:
  T* data() const {
    return device_.empty() ? const_cast<T*>(memory_.data()) : static_cast<T*>(device_.data());
  }
  Place place() const { return device_.empty() ? Place{} : device_.queue()->place(); }

  Buffer<T> memory_;
  DeviceBuffer device_;
  int64_t size_ = 0;
};

}  // namespace longhaul
