#pragma once
// Host copies of device arrays, for operations that a device does not implement.

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/array.h"

namespace longhaul {

/// Gives the host access to the values of views, as long as the object exists. For views of host
/// memory it gives the values themselves. For views of device memory it gives a copy. The
/// destructor writes a copy back if it may have been modified. Views must not overlap, but a view
/// may be a part of a view that was requested earlier.
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
  /// Returns a read-only copy of the bytes at a device address.
  const std::byte* bytes(const std::byte* device, size_t count) {
    return static_cast<const std::byte*>(bring(const_cast<std::byte*>(device), count, false));
  }

  /// Writes modified copies back now. The copies stay valid.
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
