#pragma once
// Limits the memory that the values of a running template occupy. Every string, list, dict, scope
// and object is allocated by the allocator Counted, which reports its allocations to HeldMemory.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace longhaul::jinja {

/// Counts the bytes that the calling thread has allocated by Counted, as long as the object exists.
/// If such objects are nested, the innermost one counts. The allocations of a thread without such
/// an object are not counted.
class HeldMemory {
 public:
  /// `most` is the largest number of bytes that may be allocated at the same time.
  explicit HeldMemory(size_t most) : most_(static_cast<int64_t>(most)), outer_(current) {
    current = this;
  }
  ~HeldMemory() { current = outer_; }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  /// Adds `bytes` to the count. Call it before the allocation. Throws Fault if the limit would be
  /// exceeded.
  static void take(size_t bytes) {
    if (current != nullptr) current->add(static_cast<int64_t>(bytes));
  }
  static void give_back(size_t bytes) noexcept {
    if (current != nullptr) current->held_ -= static_cast<int64_t>(bytes);
  }

 private:
  void add(int64_t bytes);

  static thread_local constinit HeldMemory* current;

  int64_t held_ = 0, most_;
  HeldMemory* outer_;
};

/// An allocator that counts the allocated bytes, and 16 bytes per allocation for the heap's own
/// data.
template <class T>
struct Counted {
  using value_type = T;
  static constexpr size_t kBeside = 16;

  Counted() = default;
  template <class U>
  Counted(const Counted<U>&) {}  // NOLINT: allocators convert

  T* allocate(size_t count) {
    HeldMemory::take(count * sizeof(T) + kBeside);
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* place, size_t count) noexcept {
    HeldMemory::give_back(count * sizeof(T) + kBeside);
    std::allocator<T>().deallocate(place, count);
  }
  template <class U>
  bool operator==(const Counted<U>&) const {
    return true;
  }
};

using Text = std::basic_string<char, std::char_traits<char>, Counted<char>>;
template <class T>
using Vector = std::vector<T, Counted<T>>;
/// A map from names to values. Any kind of string can be used to look up a name.
template <class T>
using Names = std::map<Text, T, std::less<>, Counted<std::pair<const Text, T>>>;

template <class T, class... Args>
std::shared_ptr<T> make_counted(Args&&... args) {
  return std::allocate_shared<T>(Counted<std::remove_const_t<T>>(), std::forward<Args>(args)...);
}

}  // namespace longhaul::jinja
