#pragma once
// Several texts in one input, separated by zero bytes.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace longhaul::fuzzing {

/// Returns at least `count` texts. Missing ones are empty.
inline std::vector<std::string_view> parts(const uint8_t* data, size_t size, size_t count) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> texts;
  for (;;) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    texts.push_back(rest.substr(0, end));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  texts.resize(std::max(count, texts.size()));
  return texts;
}

}  // namespace longhaul::fuzzing
