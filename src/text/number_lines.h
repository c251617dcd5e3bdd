#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// What the lines and columns of a file of numbers are called in messages.
struct NumberLines {
  std::string_view number;  ///< "gate; a gate file has a row of numbers per layer"
  std::string_view line;    ///< "layer"
  std::string_view column;  ///< "KV heads"
};

/// A text file (16 MiB at most) with columns[i] numbers in its line i, blanks or tabs between them;
/// empty lines do not count. Throws UserError naming the file, the line and what was found instead.
std::vector<std::vector<double>> read_number_lines(const std::filesystem::path& path,
                                                   std::span<const int> columns,
                                                   const NumberLines& words);
/// Such a file's text: tabs between the numbers, six decimals.
std::string number_lines_text(std::span<const std::vector<double>> lines);

}  // namespace longhaul
