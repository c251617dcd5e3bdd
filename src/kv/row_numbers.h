#pragma once
// RowNumbers is a column: one f32 number for each stored row of a list in the KV store, such as the
// attention that the row received. Its capacity grows and shrinks by whole pages of rows, like the
// list itself, so that memory forecasts can include it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/array.h"

namespace longhaul {

/// Reallocates the vector so that its capacity is exactly `room`. The vector must have at most
/// `room` elements, which are kept.
template <class T>
void set_room(std::vector<T>& numbers, int64_t room) {
  const auto wanted = static_cast<size_t>(room);
  if (numbers.capacity() == wanted) return;
  std::vector<T> fitted;
  fitted.reserve(wanted);
  fitted.assign(numbers.begin(), numbers.end());
  numbers.swap(fitted);
}

/// A column in the memory of the queue's device or of the host.
class RowNumbers {
 public:
  RowNumbers(Queue queue, std::vector<float> numbers);
  /// Returns a column of `size` undefined values, which the caller writes.
  static RowNumbers undefined(const Queue& queue, int64_t size);
  RowNumbers(const RowNumbers& other);
  RowNumbers(RowNumbers&&) noexcept = default;
  RowNumbers& operator=(const RowNumbers& other);
  RowNumbers& operator=(RowNumbers&&) noexcept = default;

  int64_t size() const { return size_; }
  View<float> view();
  size_t bytes() const { return values_.capacity() * sizeof(float) + device_.capacity(); }
  std::vector<float> read() const;  ///< copies the values to the host; waits for a device

  /// Changes the number of elements to `size`. New elements are 0. `room` is the new capacity in
  /// elements.
  void resize(int64_t size, int64_t room);
  /// Sets the number of elements to `size`, after a device operation has moved the kept elements to
  /// the front and written zeros behind them.
  void shrunk(int64_t size);
  /// Moves element rows[i] to index i and removes all other elements. Elements before index `first`
  /// are already in place. `room` is the new capacity in elements.
  void keep(std::span<const int32_t> rows, size_t first, int64_t room);
  /// Removes elements [begin, end). `room` is the new capacity in elements.
  void drop(int64_t begin, int64_t end, int64_t room);

 private:
  void write(std::span<const float> numbers, int64_t room);
  int64_t room_there() const { return static_cast<int64_t>(device_.capacity() / sizeof(float)); }

  Queue queue_;
  std::vector<float> values_;  ///< the elements if they are on the host
  DeviceBuffer device_;        ///< the elements if they are on a device
  int64_t size_ = 0;
  int64_t used_ = 0;  ///< device memory from this index on holds zeros
};

}  // namespace longhaul
