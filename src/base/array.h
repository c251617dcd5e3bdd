#pragma once
// Numbers that know where they are. A View is a handle: it is passed from one operation to the next
// and cannot be read by mistake, since only host() gives the numbers, and only of host memory.

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
  /// `size` numbers at `data`, memory of `place`.
  View(T* data, int64_t size, Place place = {}) : data_(data), size_(size), place_(place) {}
  /// Host memory.
  View(std::span<T> numbers) : View(numbers.data(), static_cast<int64_t>(numbers.size())) {}
  /// A view that may write serves where one that reads is asked for.
  operator View<const T>() const requires(!std::is_const_v<T>) { return {data_, size_, place_}; }

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Place place() const { return place_; }
  /// Numbers [first, first + count).
  View part(int64_t first, int64_t count) const {
    LH_ASSERT(first >= 0 && count >= 0 && first + count <= size_);
    return {data_ + first, count, place_};
  }
  View from(int64_t first) const { return part(first, size_ - first); }
  /// An address at that place, for kernels and for comparing two views.
  T* address() const { return data_; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
  Place place_;
};

/// The numbers of a view of host memory: the only way to read or write them on the host.
template <class T>
std::span<T> host(const View<T>& view) {
  LH_ASSERT(view.place().host());
  return {view.address(), static_cast<size_t>(view.size())};
}

/// Memory that an operation writes and reads again, reused from call to call. It is where the queue
/// works that resized it last.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// `count` numbers, undefined: what was there is lost where it must grow or move to another
  /// place.
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

  /// The first `count` numbers, which stay.
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
