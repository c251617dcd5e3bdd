#pragma once
// Writes small safetensors files for the tests of the readers.

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace longhaul::testing_support {

/// Header length, header, data.
inline std::string safetensors(std::string_view header, std::string_view data = {}) {
  const uint64_t length = header.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  out += header;
  out += data;
  return out;
}

/// The header's entry of one tensor.
inline std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                         uint64_t begin, uint64_t end) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype,
                     shape, begin, end);
}

/// A header with these entries, padded so that the data begins at a multiple of 8, as usual.
inline std::string header_of(std::initializer_list<std::string> entries) {
  std::string header = fmt::format("{{{}}}", fmt::join(entries, ","));
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

}  // namespace longhaul::testing_support
