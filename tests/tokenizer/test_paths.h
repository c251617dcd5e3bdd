#pragma once
// Paths of the committed test data, and small helpers to read it.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace longhaul {

inline std::filesystem::path tokenizer_data() {
  return std::filesystem::path(LONGHAUL_TEST_DATA) / "tokenizer";
}

inline std::string read_whole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace longhaul
