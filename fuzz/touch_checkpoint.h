#pragma once
// Reads what a caller of an opened checkpoint would, so that the sanitizers see every view.

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "format/gguf_metadata.h"
#include "format/tensor_list.h"

namespace longhaul::fuzzing {

inline unsigned touch(const std::vector<TensorView>& tensors) {
  unsigned sum = 0;
  for (const TensorView& tensor : tensors) {
    const size_t bytes = tensor.bytes();
    if (bytes == 0) continue;
    sum += std::to_integer<unsigned>(tensor.data[0]);
    sum += std::to_integer<unsigned>(tensor.data[bytes - 1]);
  }
  return sum;
}

/// Calls every accessor for every key. Accessors of the wrong type throw UserError.
inline size_t touch(const GgufMetadata& metadata) {
  size_t sum = 0;
  const auto attempt = [&](auto&& call) {
    try {
      call();
    } catch (const UserError&) {
      ++sum;
    }
  };
  for (const GgufEntry& entry : metadata.entries()) {
    sum += metadata.describe(entry).size();
    attempt([&] { sum += metadata.get_u64(entry.key) & 1; });
    attempt([&] { sum += metadata.get_i64(entry.key) & 1; });
    attempt([&] { sum += metadata.get_f64(entry.key) > 0; });
    attempt([&] { sum += metadata.get_bool(entry.key); });
    attempt([&] { sum += metadata.get_string(entry.key).size(); });
    attempt([&] {
      const auto strings = metadata.find_strings(entry.key);
      for (const std::string_view text : *strings) {
        sum += static_cast<size_t>(std::count(text.begin(), text.end(), 'a'));
      }
    });
    attempt([&] { sum += metadata.find_integers(entry.key)->size(); });
    attempt([&] { sum += metadata.find_floats(entry.key)->size(); });
    attempt([&] { sum += metadata.find_u64_per_layer(entry.key, 4)->size(); });
  }
  return sum;
}

}  // namespace longhaul::fuzzing
