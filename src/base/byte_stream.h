#pragma once
// Reads and writes binary data in files or in memory. Session files, which contain saved sequences,
// have this form. When a sequence is cloned, the state of its attention method is written to memory
// and read back. Numbers are little-endian. A file ends with the XXH3 hash of all bytes before the
// hash. Data in memory has no hash.

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

/// Writes to a file or to memory. A file is written under a temporary name (base/part_file.h), and
/// finish() renames it to `path`. A full disk therefore leaves no incomplete file. Throws UserError
/// that names the file if writing fails, or if `path` exists and is not a regular file.
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
  /// Completes the file: writes the hash and renames the temporary file to `path`.
  void finish();
  /// Returns the bytes that were written to memory.
  std::vector<std::byte> take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads from a file or from memory. The constructor throws UserError if the hash of the file is
/// wrong. Reading past the end throws UserError.
class ByteReader {
 public:
  explicit ByteReader(const std::filesystem::path& path);
  /// `contents` are the result of ByteWriter::take().
  explicit ByteReader(std::vector<std::byte> contents);
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
  /// Throws the UserError "FILE: damaged: ends too early".
  [[noreturn]] void too_short() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longhaul
