#include "text/number_lines.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/parse_number.h"

namespace longhaul {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr size_t kShown = 24;  // characters shown of an invalid field

std::vector<double> read_line(std::string_view line, const std::string& file, size_t number,
                              const NumberLines& words) {
  std::vector<double> values;
  for (size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    const std::string_view field = line.substr(at, end - at);
    double value = 0;
    if (!parse_number(field, value) || !std::isfinite(value)) {
      std::string shown(field.substr(0, kShown));
      std::replace_if(
          shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
      user_error("{}: line {}: '{}' is no {}", file, number, shown, words.number);
    }
    values.push_back(value);
    at = line.find_first_not_of(kBlank, end);
  }
  return values;
}

}  // namespace

std::vector<std::vector<double>> read_number_lines(const std::filesystem::path& path,
                                                   std::span<const int> columns,
                                                   const NumberLines& words) {
  // enough for a number for each of a million heads
  constexpr size_t kMostBytes = size_t{16} << 20;
  const MappedFile mapped(path);
  const std::string file = path.string();
  if (mapped.bytes().size() > kMostBytes) {
    user_error("{}: {} bytes; lines of numbers are read up to {}", file, mapped.bytes().size(),
               kMostBytes);
  }
  std::string_view rest(reinterpret_cast<const char*>(mapped.bytes().data()),
                        mapped.bytes().size());
  std::vector<std::vector<double>> lines;
  size_t rows = 0;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(kBlank) == std::string_view::npos) continue;
    if (++rows > columns.size()) continue;  // only count it
    lines.push_back(read_line(line, file, number, words));
    const size_t expected = static_cast<size_t>(columns[rows - 1]);
    if (lines.back().size() != expected) {
      user_error("{}: line {} has {} columns, {} {} of the model has {} {}", file, number,
                 lines.back().size(), words.line, rows - 1, expected, words.column);
    }
  }
  if (rows != columns.size()) {
    user_error("{}: has {} rows, the model has {} {}s", file, rows, columns.size(), words.line);
  }
  return lines;
}

std::string number_lines_text(std::span<const std::vector<double>> lines) {
  std::string text;
  for (const std::vector<double>& line : lines) {
    text += fmt::format("{:.6f}\n", fmt::join(line, "\t"));
  }
  return text;
}

}  // namespace longhaul
