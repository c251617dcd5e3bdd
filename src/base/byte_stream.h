#pragma once
// Binary files with a checksum, in which sessions are saved. Contents in the same format can also
// be kept in memory, which is used to clone sequences. Numbers are little-endian. A file ends with
// the XXH3 hash of all bytes before it. Contents in memory have no hash.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace longhaul {

/// Writes a file. It is written under a temporary name (base/part_file.h) and renamed to `path` in
/// finish(), so that a full disk leaves no incomplete file. Throws UserError naming the file on
/// errors, and also if `path` exists and is not a regular file.
class ByteWriter {
 public:
  ByteWriter();  ///< writes to memory
  explicit ByteWriter(const std::filesystem::path& path);
  ~ByteWriter();
  ByteWriter(const ByteWriter&) = delete;
  ByteWriter& operator=(const ByteWriter&) = delete;

  void bytes(const void* data, size_t size);
  template <class T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes(&value, sizeof value);
  }
  void text(const std::string& value);
  template <class T>
  void array(std::span<const T> values) {
    static_assert(std::is_arithmetic_v<T>);
    number<uint64_t>(values.size());
    bytes(values.data(), values.size_bytes());
  }
  /// Appends the hash and renames the file to its path.
  void finish();
  /// Returns the bytes that were written to memory.
  std::vector<std::byte> take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Checks the hash of the whole file on opening. Every read past the end throws UserError.
class ByteReader {
 public:
  explicit ByteReader(const std::filesystem::path& path);
  explicit ByteReader(std::vector<std::byte> contents);  ///< bytes of a ByteWriter in memory
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  void bytes(void* data, size_t size);
  template <class T>
  T number() {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    bytes(&value, sizeof value);
    return value;
  }
  std::string text();
  template <class T>
  std::vector<T> array() {
    const uint64_t count = number<uint64_t>();
    if (count > remaining() / sizeof(T)) too_short();
    std::vector<T> values(count);
    bytes(values.data(), count * sizeof(T));
    return values;
  }
  uint64_t remaining() const;
  const std::filesystem::path& path() const;
  [[noreturn]] void too_short() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
