#pragma once
// GgufKeys reads single keys of a GGUF file's metadata. Keys are passed without their prefix in the
// file, which is the name of the architecture and a dot ("llama."). If a value is out of range, the
// functions throw a UserError that names the file and the key.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "format/gguf_metadata.h"

namespace longhaul {

class GgufKeys {
 public:
  explicit GgufKeys(const GgufMetadata& data)
      : data_(data), architecture_(data.get_string("general.architecture")) {}

  const GgufMetadata& data() const { return data_; }
  const std::string& file() const { return data_.file(); }
  const std::string& architecture() const { return architecture_; }
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  bool has(std::string_view name) const { return data_.contains(key(name)); }

  int to_int(std::string_view name, uint64_t value) const {
    constexpr uint64_t kMost = 1 << 30;
    if (value > kMost) user_error("{}: {} is {}, more than {}", file(), key(name), value, kMost);
    return static_cast<int>(value);
  }
  int size(std::string_view name) const { return to_int(name, data_.get_u64(key(name))); }
  int size_or(std::string_view name, int64_t fallback) const {
    return to_int(name, data_.find_u64(key(name)).value_or(static_cast<uint64_t>(fallback)));
  }

  std::optional<double> real(std::string_view name) const { return data_.find_f64(key(name)); }
  std::optional<double> positive(std::string_view name) const {
    const auto value = real(name);
    if (value && (!(*value > 0) || !std::isfinite(*value))) {
      user_error("{}: {} is {}, expected a positive number", file(), key(name), *value);
    }
    return value;
  }
  /// Returns the value, or `fallback` if it is missing or 0. llama.cpp also treats 0 as missing.
  float positive_or(std::string_view name, float fallback) const {
    if (real(name).value_or(0) == 0) return fallback;
    return static_cast<float>(*positive(name));
  }

  /// Returns one value per layer. The file may have a list, or a single value that applies to all
  /// layers.
  std::vector<uint64_t> per_layer(std::string_view name, int layers) const {
    if (layers < 1 || layers > 1024) user_error("{}: {} is {}", file(), key("block_count"), layers);
    const auto values = data_.find_u64_per_layer(key(name), static_cast<uint64_t>(layers));
    if (!values) data_.get_u64(key(name));  // throws if it is missing
    return *values;
  }

 private:
  const GgufMetadata& data_;
  std::string architecture_;
};

}  // namespace longhaul
