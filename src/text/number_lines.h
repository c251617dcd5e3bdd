#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Names of the lines and columns of a file of numbers, for messages.
struct NumberLines {
  std::string_view number;  ///< "gate; a gate file has a row of numbers per layer"
  std::string_view line;    ///< "layer"
  std::string_view column;  ///< "KV heads"
};

/// Reads a text file (16 MiB at most) with columns[i] numbers in line i, separated by blanks or
/// tabs; empty lines are ignored. Throws UserError with the file, the line and the problem.
std::vector<std::vector<double>> read_number_lines(const std::filesystem::path& path,
                                                   std::span<const int> columns,
                                                   const NumberLines& words);
/// The text of such a file: tabs between the numbers, six decimals.
std::string number_lines_text(std::span<const std::vector<double>> lines);

}  // namespace longhaul
