#pragma once
// Writes small valid or invalid GGUF files byte by byte, for tests of the readers.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "format/gguf_metadata.h"

namespace longhaul::testing_support {

template <class T>
void put(std::string& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

inline void put_string(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out += text;
}

class GgufBuilder {
 public:
  template <class T>
  GgufBuilder& number(std::string_view key, GgufType type, T value) {
    begin_key(key, type);
    put<T>(keys_, value);
    return *this;
  }
  GgufBuilder& u32(std::string_view key, uint32_t v) { return number(key, GgufType::kU32, v); }
  GgufBuilder& text(std::string_view key, std::string_view value) {
    begin_key(key, GgufType::kString);
    put_string(keys_, value);
    return *this;
  }
  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values) {
    begin_key(key, GgufType::kArray);
    put(keys_, static_cast<uint32_t>(GgufType::kString));
    put<uint64_t>(keys_, values.size());
    for (const std::string& value : values) put_string(keys_, value);
    return *this;
  }
  template <class T>
  GgufBuilder& array(std::string_view key, GgufType element, const std::vector<T>& values) {
    begin_key(key, GgufType::kArray);
    put(keys_, static_cast<uint32_t>(element));
    put<uint64_t>(keys_, values.size());
    for (const T value : values) put<T>(keys_, value);
    return *this;
  }
  /// A key with arbitrary bytes as its value.
  GgufBuilder& raw(std::string_view key, uint32_t type, std::string_view value) {
    begin_key(key, static_cast<GgufType>(type));
    keys_ += value;
    return *this;
  }

  /// Dimensions in the file's order (fastest first). The data is `bytes` times `fill`.
  GgufBuilder& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                      size_t bytes, char fill = 0) {
    const uint64_t offset = (data_.size() + alignment_ - 1) / alignment_ * alignment_;
    data_.resize(offset, 0);
    data_.append(bytes, fill);
    return tensor_at(name, dims, type, offset);
  }
  /// An entry without data.
  GgufBuilder& tensor_at(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                         uint64_t offset) {
    put_string(infos_, name);
    put(infos_, static_cast<uint32_t>(dims.size()));
    for (const uint64_t d : dims) put(infos_, d);
    put(infos_, type);
    put(infos_, offset);
    ++tensor_count;
    return *this;
  }
  GgufBuilder& alignment(uint32_t value) {
    alignment_ = value;
    return u32("general.alignment", value);
  }

  std::string build() const {
    std::string out = magic;
    put(out, version);
    put(out, tensor_count);
    put(out, key_count);
    out += keys_ + infos_;
    out.resize((out.size() + alignment_ - 1) / alignment_ * alignment_, 0);
    return out + data_;
  }

  // Header fields that a test may change before build().
  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t tensor_count = 0;
  uint64_t key_count = 0;

 private:
  void begin_key(std::string_view key, GgufType type) {
    put_string(keys_, key);
    put(keys_, static_cast<uint32_t>(type));
    ++key_count;
  }

  std::string keys_, infos_, data_;
  uint64_t alignment_ = 32;
};

}  // namespace longhaul::testing_support
