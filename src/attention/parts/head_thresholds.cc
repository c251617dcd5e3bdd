#include "attention/parts/head_thresholds.h"

#include <nlohmann/json.hpp>

#include "attention/parts/option_file.h"
#include "base/error.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::json;

/// The table whose name ends in `_stride`.
const json& find_table(const json& tables, int stride, const std::string& file, std::string& name) {
  const std::string ending = fmt::format("_{}", stride);
  for (const auto& [key, table] : tables.items()) {
    if (key.ends_with(ending)) {
      name = key;
      return table;
    }
  }
  user_error("{}: no table for stride={}: none whose name ends in {}", file, stride, ending);
}

HeadThresholds read_tables(const std::filesystem::path& path, int stride, int layers, int heads) {
  const std::string file = path.string();
  const json document = read_json_file(path);
  const auto tables = document.find("thresholds");
  if (tables == document.end() || !tables->is_object()) {
    user_error("{}: has no 'thresholds' with a table for every stride", file);
  }
  std::string name;
  const json& table = find_table(*tables, stride, file, name);
  name = printable(name);
  if (!table.is_array() || table.size() != static_cast<size_t>(layers)) {
    user_error("{}: {}: has {} layers, the model has {}", file, name, table.size(), layers);
  }
  HeadThresholds thresholds;
  for (const json& row : table) {
    if (!row.is_array() || row.size() != static_cast<size_t>(heads)) {
      user_error("{}: {}: layer {} has {} heads, the model has {}", file, name, thresholds.size(),
                 row.size(), heads);
    }
    thresholds.emplace_back();
    for (const json& value : row) {
      if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > 1) {
        user_error("{}: {}: layer {}: {} is no number from 0 to 1", file, name,
                   thresholds.size() - 1, printable(value.dump()));
      }
      thresholds.back().push_back(value.get<double>());
    }
  }
  return thresholds;
}

}  // namespace

HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads) {
  return read_option_file("xattention", "thresholds",
                          [&] { return read_tables(file, stride, layers, heads); });
}

}  // namespace longhaul
