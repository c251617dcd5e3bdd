#pragma once
// Host copies of device arrays, for operations that a device does not implement.

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/array.h"

namespace longhaul {

/// Gives access to the values of views during its lifetime. For host memory these are the values
/// themselves. For device memory it is a copy, which is written back at the end if it may have been
/// modified. Views must not overlap, except for parts of a view requested before.
class HostStage {
 public:
  explicit HostStage(Queue& queue) : queue_(&queue) {}
  ~HostStage() { write_back(); }
  HostStage(HostStage&& other) noexcept
      : queue_(other.queue_), copies_(std::exchange(other.copies_, {})) {}
  HostStage& operator=(HostStage&&) = delete;

  template <class T>
  View<T> operator()(const View<T>& view) {
    if (view.place().host() || view.empty()) return {view.address(), view.size()};
    using Plain = std::remove_const_t<T>;
    void* const numbers = bring(const_cast<Plain*>(view.address()),
                                static_cast<size_t>(view.size()) * sizeof(T), !std::is_const_v<T>);
    return {static_cast<T*>(numbers), view.size()};
  }
  /// Bytes at a device address, read-only.
  const std::byte* bytes(const std::byte* device, size_t count) {
    return static_cast<const std::byte*>(bring(const_cast<std::byte*>(device), count, false));
  }

  /// Writes modified copies back now; the copies stay valid.
  void write_back();

 private:
  struct Copy {
    std::byte* device = nullptr;
    size_t bytes = 0;
    std::unique_ptr<std::byte[]> host;
    bool written = false;
  };
  void* bring(void* device, size_t bytes, bool written);

  Queue* queue_;
  std::vector<Copy> copies_;
};

}  // namespace longhaul
