#pragma once
// RowNumbers holds one value for each row of a list, such as the attention that the row received.
// Such an array is called a column. Its memory grows and shrinks by whole pages, like that of the
// rows, so that it can be forecast.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/array.h"

namespace longhaul {

/// Reallocates the vector so that its capacity is exactly `room`. Keeps the values, of which there
/// are at most `room`.
template <class T>
void set_room(std::vector<T>& numbers, int64_t room) {
  const auto wanted = static_cast<size_t>(room);
  if (numbers.capacity() == wanted) return;
  std::vector<T> fitted;
  fitted.reserve(wanted);
  fitted.assign(numbers.begin(), numbers.end());
  numbers.swap(fitted);
}

/// A column of f32 values, in the memory of its queue.
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

  /// Changes the size to `size` values. New values are 0. `room` is the capacity in values.
  void resize(int64_t size, int64_t room);
  /// Updates the size after a device operation has moved the kept values to the front and written
  /// zeros behind them.
  void shrunk(int64_t size);
  /// Moves value rows[i] to index i. The values before index `first` are already in place. `room`
  /// is the new capacity in values.
  void keep(std::span<const int32_t> rows, size_t first, int64_t room);
  /// Removes values [begin, end). `room` is the new capacity in values.
  void drop(int64_t begin, int64_t end, int64_t room);

 private:
  void write(std::span<const float> numbers, int64_t room);
  int64_t room_there() const { return static_cast<int64_t>(device_.capacity() / sizeof(float)); }

  Queue queue_;
  std::vector<float> values_;  ///< the values if they are on the host
  DeviceBuffer device_;        ///< the values if they are on a device
  int64_t size_ = 0;
  int64_t used_ = 0;  ///< device memory from this index on holds zeros
};

}  // namespace longhaul
