#pragma once
// Parses the JSON header of a safetensors file. No document is built, so hostile nesting costs
// nothing and duplicate names are detected.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  ///< byte offset from the start of the data part
  uint64_t end = 0;
};

/// Returns the entries in the order of the header. Throws UserError with file, tensor and problem
/// if the text is not JSON, lacks a member or repeats a name.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view json,
                                                       const std::string& file);

}  // namespace longhaul
