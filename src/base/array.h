#pragma once
// Arrays with a location, in host or device memory. Operations pass a View, which is a handle to an
// array. Code on the host can access the values only through host(), and only if they are in host
// memory, so device memory is never read by mistake.

#include <cstdint>
#include <span>
#include <type_traits>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/device_buffer.h"
#include "base/queue.h"

namespace longhaul {

template <class T>
class View {
 public:
  View() = default;
  /// A view of `size` values at `data`, in memory of `place`.
  View(T* data, int64_t size, Place place = {}) : data_(data), size_(size), place_(place) {}
  /// A view of host memory.
  View(std::span<T> numbers) : View(numbers.data(), static_cast<int64_t>(numbers.size())) {}
  /// A writable view converts to a read-only one.
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
  /// Returns the address of the first value, for kernels and for comparing views. On the host,
  /// device memory cannot be read there.
  T* address() const { return data_; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
  Place place_;
};

/// Returns the values of a view of host memory. This is the only way to read or write them on the
/// host.
template <class T>
std::span<T> host(const View<T>& view) {
  LH_ASSERT(view.place().host());
  return {view.address(), static_cast<size_t>(view.size())};
}

/// Memory of an operation, reused from call to call. It is located on the device (or host) of the
/// queue that last resized it.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Resizes to `count` values, which are undefined. Contents are lost if it must grow or move to
  /// another place.
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

  /// Reduces the size to the first `count` values, which are kept.
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
