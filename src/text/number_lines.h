#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Words with which error messages describe the numbers, lines and columns of a file.
struct NumberLines {
  /// A number, such as "gate; a gate file has a row of numbers per layer".
  std::string_view number;
  std::string_view line;    ///< such as "layer"
  std::string_view column;  ///< such as "KV heads"
};

/// Reads a text file (at most 16 MiB) with columns[i] numbers in line i, separated by spaces or
/// tabs. Empty lines are ignored. Throws a UserError that names the file, the line and the problem
/// if the file has another form.
std::vector<std::vector<double>> read_number_lines(const std::filesystem::path& path,
                                                   std::span<const int> columns,
                                                   const NumberLines& words);
/// Returns the text of a file that read_number_lines() can read. Numbers have six decimals and are
/// separated by tabs.
std::string number_lines_text(std::span<const std::vector<double>> lines);

}  // namespace longhaul
