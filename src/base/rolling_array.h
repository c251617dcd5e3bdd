#pragma once
// RollingArray is an array to which values are appended at the end and from which values are
// removed at the front. It can be saved in session files. The values are on the host or on a
// device, depending on the queue of the last append.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/array.h"
#include "base/huge_pages.h"

namespace longhaul {

template <class T>
class RollingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  int64_t size() const { return held_ + std::ssize(numbers_); }
  bool empty() const { return size() == 0; }
  /// Returns the bytes of the values, without spare memory.
  size_t bytes() const { return static_cast<size_t>(size()) * sizeof(T); }

  /// Returns a view of all values. It is valid until values are added or removed.
  View<T> view() { return {data(), size(), place()}; }
  View<const T> view() const { return {data(), size(), place()}; }
  Place place() const { return device_.empty() ? Place{} : device_.queue()->place(); }

  /// Appends `count` zeros and returns a view of them.
  View<T> append_zeros(Queue& queue, int64_t count) {
    LH_ASSERT(count >= 0);
    if (queue.on_host()) {
      LH_ASSERT(held_ == 0);
      if (!device_.empty()) device_.reset();
      first_ = 0;
      numbers_.resize(numbers_.size() + static_cast<size_t>(count));
    } else {
      reserve(queue, count);
      // Values are appended a few at a time, and each clear is a kernel launch. Therefore all
      // remaining memory is cleared at once.
      const int64_t end = first_ + held_;
      if (count > 0 && end < used_) {
        queue.device().clear(data() + held_, device_.capacity() - bytes_of(end));
        used_ = end;
      }
      held_ += count;
      used_ = std::max(used_, end + count);
    }
    return view().from(size() - count);
  }

  /// Appends `numbers`.
  void append(Queue& queue, std::span<const T> numbers) {
    const View<T> to = append_zeros(queue, std::ssize(numbers));
    if (numbers.empty()) return;
    if (queue.on_host()) {
      std::copy(numbers.begin(), numbers.end(), to.address());
    } else {
      queue.device().upload(numbers.data(), to.address(), numbers.size_bytes());
    }
  }
  /// Replaces the contents by `numbers`.
  void assign(Queue& queue, std::span<const T> numbers) {
    clear();
    append(queue, numbers);
  }

  /// Removes the first `count` values.
  void drop_first(int64_t count) {
    LH_ASSERT(count >= 0 && count <= size());
    if (device_.empty()) {
      numbers_.erase(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
      first_ += count;
      held_ -= count;
    }
  }

  void clear() {
    numbers_.clear();
    first_ = held_ = 0;
  }

  /// Saves the values or loads them. Loaded values are on the host.
  void archive(Archive& archive) {
    if (archive.loading()) {
      const std::vector<T> numbers = archive.in().array<T>();
      numbers_.assign(numbers.begin(), numbers.end());
      device_.reset();
      first_ = held_ = 0;
    } else if (held_ == 0) {
      archive.out().array(std::span<const T>(numbers_));
    } else {
      std::vector<T> copy(static_cast<size_t>(held_));
      device_.queue()->download(data(), copy.data(), bytes());
      archive.out().array(std::span<const T>(copy));
    }
  }

 private:
  T* data() const {
    if (device_.empty()) return const_cast<T*>(numbers_.data());
    return static_cast<T*>(device_.data()) + first_;
  }

  /// Reserves memory for `more` values after the present ones, on the queue's device.
  void reserve(Queue& queue, int64_t more) {
    const int64_t all = size() + more;
    const bool fits = bytes_of(first_ + all) <= device_.capacity();
    if (numbers_.empty() && !device_.empty() && fits) return;
    // Values that were removed at the front leave unused memory there. When the array reaches the
    // end of its memory, the remaining values are copied to the start of new memory. Half of their
    // size is then reserved in addition, so that such copies are rare.
    const int64_t room = first_ > 0 ? all + all / 2 : all;
    DeviceBuffer wider;
    wider.resize(queue.shared_device(), bytes_of(room));
    const size_t held = bytes();
    if (held > 0 && numbers_.empty()) queue.device().copy(data(), wider.data(), held);
    if (!numbers_.empty()) queue.device().upload(numbers_.data(), wider.data(), held);
    held_ = size();
    first_ = 0;
    numbers_ = {};
    device_ = std::move(wider);
    used_ = static_cast<int64_t>(device_.capacity() / sizeof(T));
  }

  static size_t bytes_of(int64_t count) { return static_cast<size_t>(count) * sizeof(T); }

  std::vector<T, HugePageAllocator<T>> numbers_;  ///< the values if they are on the host
  /// If the values are on a device, they are the elements [first_, first_ + held_) of this buffer.
  DeviceBuffer device_;
  int64_t first_ = 0, held_ = 0;
  int64_t used_ = 0;  ///< device memory from this index on holds zeros
};

}  // namespace longhaul
