#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Names for the lines and columns of a file of numbers, used in messages.
struct NumberLines {
  std::string_view number;  ///< such as "gate; a gate file has a row of numbers per layer"
  std::string_view line;    ///< such as "layer"
  std::string_view column;  ///< such as "KV heads"
};

/// Reads a text file (at most 16 MiB) with columns[i] numbers in line i, separated by spaces or
/// tabs. Empty lines are ignored. Throws UserError with the file, the line and the problem.
std::vector<std::vector<double>> read_number_lines(const std::filesystem::path& path,
                                                   std::span<const int> columns,
                                                   const NumberLines& words);
/// Returns the text of such a file, with tabs between the numbers and six decimals.
std::string number_lines_text(std::span<const std::vector<double>> lines);

}  // namespace longhaul
