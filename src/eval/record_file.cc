#include "eval/record_file.h"

#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "base/mapped_file.h"

namespace longhaul {
namespace {

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

RecordFile read_records(const std::filesystem::path& path) {
  RecordFile file;
  std::error_code error;
  if (!std::filesystem::exists(path, error) || std::filesystem::file_size(path, error) == 0) {
    const std::string packed = path.string() + ".gz";
    if (std::filesystem::exists(packed, error)) {
      user_error("{}: is packed; 'gunzip -kf {}' unpacks it", packed, packed);
    }
    return file;
  }
  const MappedFile mapped(path);
  const auto bytes = mapped.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::unordered_map<std::string, size_t> line_of_key;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) {
      file.torn = true;
      break;
    }
    ++number;
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    file.whole_bytes = begin;
    if (blank(line)) continue;
    try {
      file.records.push_back(record_from_json(std::string(line)));
    } catch (const UserError& problem) {
      user_error("{} line {}: {}", path.string(), number, problem.what());
    }
    const auto [first, is_new] = line_of_key.emplace(file.records.back().key(), number);
    if (!is_new) {
      user_error("{} line {}: the same task, length, id and method as line {}", path.string(),
                 number, first->second);
    }
  }
  return file;
}

}  // namespace longhaul
