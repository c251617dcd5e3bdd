#pragma once
// Numbers that stand beside the rows of a head (token numbers, columns): their memory grows and
// shrinks by whole pages, as that of the rows does, so that it can be forecast.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace longhaul
