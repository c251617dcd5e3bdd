#include "attention/methods/xattention/head_thresholds.h"

#include "attention/parts/head_files.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

HeadThresholds read_threshold_tables(const std::filesystem::path& path, int stride, int layers,
                                     int heads) {
  const std::string ending = fmt::format("_{}", stride);
  const nlohmann::json tables = read_json_file(path).value("thresholds", nlohmann::json::object());
  HeadThresholds thresholds(static_cast<size_t>(layers));
  for (const auto& [name, table] : tables.items()) {
    if (!name.ends_with(ending)) continue;
    each_head(table, fmt::format("{}: {}", path.string(), printable(name)), layers, heads,
              [&](int layer, const nlohmann::json& entry, const std::string& where) {
                nth(thresholds, layer).push_back(number_of(entry, 1.0, where));
              });
    return thresholds;
  }
  user_error("{}: has no 'thresholds' for stride={}: no table whose name ends in {}", path.string(),
             stride, ending);
}

}  // namespace

HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads) {
  return with_option("xattention", "thresholds",
                     [&] { return read_threshold_tables(file, stride, layers, heads); });
}

}  // namespace longhaul
