#pragma once
// The JSON header of a safetensors file, parsed without building a document, so that hostile
// nesting costs nothing and duplicate names are detected.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  ///< bytes from the start of the data part
  uint64_t end = 0;
};

/// Entries in the header's order. Throws UserError (file, tensor, problem) if the text is not JSON,
/// lacks a field or repeats a name.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view json,
                                                       const std::string& file);

}  // namespace longhaul
