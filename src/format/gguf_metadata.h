#pragma once
// GgufMetadata has the keys and values of a GGUF file. The values stay in the mapped file: strings
// are views into it, and arrays are decoded only when they are accessed. The reader skips a long
// array, such as a vocabulary of 128K tokens, by adding up the lengths of its strings. Views are
// valid as long as the Checkpoint exists.
//  Source: the GGUF specification, version 3 (ggml, docs/gguf.md).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"
#include "format/gguf_value.h"

namespace longhaul {

/// An array that has not been decoded. `bytes` are its `count` elements as they are in the file.
struct GgufArray {
  GgufType element = GgufType::kU8;
  uint64_t count = 0;
  std::span<const std::byte> bytes;
};

struct GgufEntry {
  std::string_view key;
  GgufType type = GgufType::kU8;
  std::span<const std::byte> bytes;  ///< bytes of a scalar, or text of a string; empty for arrays
  GgufArray array;                   ///< for GgufType::kArray
};

/// If a value has another type than the function returns, all functions throw a UserError with the
/// file, the key and the type. If a key is absent, the functions find_...() return nothing, and the
/// functions get_...() throw UserError.
class GgufMetadata {
 public:
  explicit GgufMetadata(std::string file) : file_(std::move(file)) {}

  /// Adds an entry. Only read_gguf() calls it. Throws UserError if the key already exists.
  void add(const GgufEntry& entry);

  /// Returns the entries in the order of the file.
  const std::vector<GgufEntry>& entries() const { return entries_; }
  const GgufEntry* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const std::string& file() const { return file_; }  ///< returns the name of the file

  // The functions for u64 and i64 accept any integer type in the file if the value fits. The
  // functions for f64 also accept integers.
  std::optional<uint64_t> find_u64(std::string_view key) const;
  std::optional<int64_t> find_i64(std::string_view key) const;
  std::optional<double> find_f64(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string_view> find_string(std::string_view key) const;
  std::optional<GgufArray> find_array(std::string_view key) const;
  uint64_t get_u64(std::string_view key) const;
  int64_t get_i64(std::string_view key) const;
  double get_f64(std::string_view key) const;
  bool get_bool(std::string_view key) const;
  std::string_view get_string(std::string_view key) const;
  GgufArray get_array(std::string_view key) const;

  /// These functions return decoded arrays, or nothing if the key is absent. The memory of the
  /// result is proportional to the size of the array in the file.
  std::optional<std::vector<std::string_view>> find_strings(std::string_view key) const;
  std::optional<std::vector<int64_t>> find_integers(std::string_view key) const;
  std::optional<std::vector<float>> find_floats(std::string_view key) const;

  /// Returns a setting that can differ between layers. The value in the file is one number for all
  /// layers, or an array of `layers` numbers. The result always has `layers` numbers. It is empty
  /// if the key is absent.
  std::optional<std::vector<uint64_t>> find_u64_per_layer(std::string_view key,
                                                          uint64_t layers) const;

  /// Returns the value as `longhaul inspect` prints it. Arrays are shown by their type, length and
  /// first elements.
  std::string describe(const GgufEntry& entry) const;

 private:
  [[noreturn]] void missing(std::string_view key) const;
  [[noreturn]] void wrong_type(const GgufEntry& entry, std::string_view wanted) const;

  std::string file_;
  std::vector<GgufEntry> entries_;
  std::unordered_map<std::string_view, size_t, SeededHash> index_;
};

}  // namespace longhaul
