#pragma once
// Buffer is an array on the host for temporary data. Its memory is aligned to 64 bytes, not
// initialised, and reused when the size changes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace longhaul {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t count) { resize(count); }
  ~Buffer() { std::free(memory_); }
  Buffer(Buffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  /// Sets the size to `count` elements. If the buffer must grow, its contents are lost. Throws
  /// std::bad_alloc if there is no memory.
  void resize(size_t count) {
    if (count > capacity_) {
      std::free(memory_);
      data_ = nullptr;
      capacity_ = 0;
      // malloc() aligns to fewer bytes than kAlignment. The additional bytes allow an aligned
      // start.
      memory_ = std::malloc(count * sizeof(T) + kAlignment);
      if (memory_ == nullptr) throw std::bad_alloc();
      const uintptr_t from = reinterpret_cast<uintptr_t>(memory_) + kAlignment - 1;
      data_ = reinterpret_cast<T*>(from / kAlignment * kAlignment);
      capacity_ = count;
    }
    size_ = count;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity_bytes() const { return capacity_ * sizeof(T); }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  static constexpr size_t kAlignment = 64;  // alignment of the memory in bytes

  void* memory_ = nullptr;  ///< address returned by malloc()
  T* data_ = nullptr;       ///< first aligned byte of memory_
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace longhaul
