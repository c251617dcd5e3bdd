#pragma once
// Numbers of a device, lent to the host: what an operation that a device does not have works on.

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/array.h"

namespace longhaul {

/// Gives the numbers of views for as long as it lives. Of host memory these are the numbers
/// themselves; of a device a copy, which goes back at the end where it may have been written. Views
/// that are asked for must not overlap, but for parts of one that was asked for before.
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
  /// Bytes at a device's address, to be read.
  const std::byte* bytes(const std::byte* device, size_t count) {
    return static_cast<const std::byte*>(bring(const_cast<std::byte*>(device), count, false));
  }

  /// Sends what was written back now; the copies stay.
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
