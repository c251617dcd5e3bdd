#include "report/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "eval/record_file.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string own_name(const fs::path& folder) {
  const fs::path plain = folder.lexically_normal();
  const fs::path name = plain.has_filename() ? plain.filename() : plain.parent_path().filename();
  return name.empty() || name == "." ? "run" : name.string();
}

}  // namespace

RunFolder read_run(const fs::path& folder) {
  if (folder.empty()) user_error("'': is no folder");
  if (!is_folder(folder)) user_error("{}: is no folder", folder.string());
  if (!is_there(folder / "run.json")) {
    user_error("{}: holds no run.json: is no run of 'longhaul eval'", folder.string());
  }
  RunFolder run;
  run.name = own_name(folder);
  run.info = read_json_file(folder / "run.json");
  RecordFile file = read_records(folder / "samples.jsonl");
  run.records = std::move(file.records);
  run.torn = file.torn;
  return run;
}

std::vector<RunFolder> read_runs(const std::vector<fs::path>& folders) {
  std::vector<RunFolder> runs;
  for (size_t i = 0; i < folders.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      std::error_code error;
      if (fs::equivalent(folders[i], folders[j], error)) {
        user_error("{}: is given twice", folders[i].string());
      }
    }
    runs.push_back(read_run(folders[i]));
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto same = [&](const fs::path& other) {
      return own_name(other) == own_name(folders[i]);
    };
    if (std::ranges::count_if(folders, same) > 1) runs[i].name = folders[i].string();
  }
  return runs;
}

std::vector<std::string> commands_of(const RunFolder& run) {
  std::vector<std::string> commands;
  const auto add = [&](const ordered_json& value) {
    if (value.is_string()) commands.push_back(value.get<std::string>());
  };
  if (const auto all = run.info.find("commands"); all != run.info.end() && all->is_array()) {
    for (const ordered_json& command : *all) add(command);
  }
  const auto one = run.info.find("command");
  if (commands.empty() && one != run.info.end()) add(*one);
  return commands;
}

std::string info_text(const ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{1} << 62) return value.dump();
  if (value.is_number_integer()) return with_commas(value.get<int64_t>());
  if (value.is_number_float()) return fmt::format("{:g}", value.get<double>());
  if (value.is_array()) {
    std::string text;
    for (const ordered_json& item : value) {
      text += (text.empty() ? "" : ", ") + info_text(item);
    }
    return text;
  }
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace longhaul
