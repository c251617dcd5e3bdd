#pragma once
// Parses the JSON header of a safetensors file. The parser builds no JSON document. Deep nesting in
// a hostile header therefore needs no memory. A JSON document would also hide a tensor whose name
// occurs twice.

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

/// Returns the entries in the order of the header. Throws a UserError with the file, the tensor and
/// the problem if the header is not JSON, if a member of an entry is missing, or if a name occurs
/// twice.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view json,
                                                       const std::string& file);

}  // namespace longhaul
