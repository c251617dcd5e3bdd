#pragma once
// A ByteCursor reads the bytes of a file one after another, and never reads past their end.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace longhaul {

/// Numbers are little-endian, as in GGUF files, in safetensors files, and on every CPU on which
/// Longhaul runs.
class ByteCursor {
 public:
  ByteCursor(std::span<const std::byte> bytes, std::string file)
      : bytes_(bytes), file_(std::move(file)) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }
  const std::string& file() const { return file_; }

  /// Returns the next `count` bytes. If there are fewer, throws a UserError with the file, the
  /// position and `what`, the name of the thing that is read.
  std::span<const std::byte> take(uint64_t count, std::string_view what) {
    if (count > remaining()) {
      user_error("{}: truncated: {} at byte {} needs {} bytes, {} are left", file_, what, position_,
                 count, remaining());
    }
    const auto part = bytes_.subspan(position_, count);
    position_ += count;
    return part;
  }

  template <class T>
  T read(std::string_view what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// Reads a string: its length as u64, and then its bytes.
  std::string_view read_string(std::string_view what) {
    const auto text = take(read<uint64_t>(what), what);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  /// Returns the bytes from an earlier position to the current one.
  std::span<const std::byte> since(uint64_t start) const {
    return bytes_.subspan(start, position_ - start);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string file_;
  uint64_t position_ = 0;
};

}  // namespace longhaul
