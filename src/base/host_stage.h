#pragma once
// HostStage copies device arrays to the host, for operations that a device does not implement.

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/array.h"

namespace longhaul {

/// Gives host code access to the values of views, as long as the object exists. A view of host
/// memory is returned unchanged. A view of device memory is copied to the host. The destructor
/// writes a copy back if its view is writable. Views must not overlap, except that a view may be a
/// part of an earlier view.
class HostStage {
 public:
  explicit HostStage(Queue& queue) : queue_(&queue) {}
  ~HostStage() { write_back(); }
  HostStage(HostStage&& other) noexcept
      : queue_(other.queue_), copies_(std::exchange(other.copies_, {})) {}
  HostStage& operator=(HostStage&&) = delete;

  /// Returns a view of the values in host memory.
  template <class T>
  View<T> operator()(const View<T>& view) {
    if (view.place().host() || view.empty()) return {view.address(), view.size()};
    using Plain = std::remove_const_t<T>;
    void* const numbers = bring(const_cast<Plain*>(view.address()),
                                static_cast<size_t>(view.size()) * sizeof(T), !std::is_const_v<T>);
    return {static_cast<T*>(numbers), view.size()};
  }
  /// Returns a copy of `count` bytes at a device address. The copy is not written back.
  const std::byte* bytes(const std::byte* device, size_t count) {
    return static_cast<const std::byte*>(bring(const_cast<std::byte*>(device), count, false));
  }

  /// Writes the copies of writable views back now. The copies stay valid.
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
