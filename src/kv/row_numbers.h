#pragma once
// Numbers that stand beside the rows of a head (token numbers, columns): their memory grows and
// shrinks by whole pages, as that of the rows does, so that it can be forecast.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/array.h"

namespace longhaul {

/// Room for exactly `room` numbers; keeps those that there are (no more than `room`).
template <class T>
void set_room(std::vector<T>& numbers, int64_t room) {
  const auto wanted = static_cast<size_t>(room);
  if (numbers.capacity() == wanted) return;
  std::vector<T> fitted;
  fitted.reserve(wanted);
  fitted.assign(numbers.begin(), numbers.end());
  numbers.swap(fitted);
}

/// A column: where its queue works.
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

  /// To `size` numbers, new ones zero, in memory for `room`.
  void resize(int64_t size, int64_t room);
  /// A device has moved the numbers that stay to the front, and zeros behind them.
  void shrunk(int64_t size);
  /// Number i becomes number rows[i]; those before `first` are where they were.
  void keep(std::span<const int32_t> rows, size_t first, int64_t room);
  /// Numbers [begin, end) leave.
  void drop(int64_t begin, int64_t end, int64_t room);

 private:
  void write(std::span<const float> numbers, int64_t room);
  int64_t room_there() const { return static_cast<int64_t>(device_.capacity() / sizeof(float)); }

  Queue queue_;
  std::vector<float> values_;  ///< the host's
  DeviceBuffer device_;        ///< a device's
  int64_t size_ = 0;
  int64_t used_ = 0;  ///< of a device's memory: from here on it holds zeros
};

}  // namespace longhaul
