#pragma once
// Per-row metadata of a head (token numbers, columns). Its memory grows and shrinks by whole pages
// like that of the rows, so that it can be forecast.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/array.h"

namespace longhaul {

/// Reserves room for exactly `room` values and keeps the existing ones (no more than `room`).
template <class T>
void set_room(std::vector<T>& numbers, int64_t room) {
  const auto wanted = static_cast<size_t>(room);
  if (numbers.capacity() == wanted) return;
  std::vector<T> fitted;
  fitted.reserve(wanted);
  fitted.assign(numbers.begin(), numbers.end());
  numbers.swap(fitted);
}

/// A column, in the memory of its queue.
class RowNumbers {
 public:
  RowNumbers(Queue queue, std::vector<float> numbers);
  RowNumbers(const RowNumbers& other);
  RowNumbers(RowNumbers&&) noexcept = default;
  RowNumbers& operator=(const RowNumbers& other);
  RowNumbers& operator=(RowNumbers&&) noexcept = default;

  int64_t size() const { return size_; }
  View<float> view();
  size_t bytes() const { return values_.capacity() * sizeof(float) + device_.capacity(); }
  std::vector<float> read() const;  ///< waits

  /// Resizes to `size` values, new ones zero, in memory for `room`.
  void resize(int64_t size, int64_t room);
  /// Call after a device has moved the kept values to the front and zeros after them.
  void shrunk(int64_t size);
  /// Value rows[i] moves to index i; values before `first` do not move.
  void keep(std::span<const int32_t> rows, size_t first, int64_t room);
  /// Removes values [begin, end).
  void drop(int64_t begin, int64_t end, int64_t room);

 private:
  void write(std::span<const float> numbers, int64_t room);
  int64_t room_there() const { return static_cast<int64_t>(device_.capacity() / sizeof(float)); }

  Queue queue_;
  std::vector<float> values_;  ///< on the host
  DeviceBuffer device_;        ///< on a device
  int64_t size_ = 0;
  int64_t used_ = 0;  ///< device memory from here on holds zeros
};

}  // namespace longhaul
