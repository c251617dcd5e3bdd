#include "cli/pull_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/paths.h"
#include "hub/choose_files.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = ".pulled";

PullRecord of_json(const nlohmann::json& json) {
  const auto text = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  PullRecord r{text("name"), text("repository"), text("commit"), text("url"), text("licence"),
               {},           text("path")};
  if (json.contains("files") && json["files"].is_array()) {
    for (const auto& file : json["files"]) {
      if (file.is_string()) r.files.push_back(file.get<std::string>());
    }
  }
  return r;
}

}  // namespace

void keep_record(const fs::path& folder, const PullRecord& record) {
  std::error_code error;
  fs::create_directories(folder / kFolder, error);
  if (error) user_error("{}: {}", (folder / kFolder).string(), error.message());
  const nlohmann::ordered_json json = {
      {"name", record.name}, {"repository", record.repository}, {"commit", record.commit},
      {"url", record.url},   {"licence", record.licence},       {"files", record.files},
      {"path", record.path}};
  replace_file(folder / kFolder / (record.name + ".json"), json.dump(1) + "\n");
}

std::optional<PullRecord> read_record(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / kFolder / (name + ".json");
  if (!is_file(file)) return std::nullopt;
  try {
    return of_json(read_json_file(file));
  } catch (const UserError&) {  // only a convenience: without it models are pulled again
    return std::nullopt;
  }
}

bool is_meant(const PullRecord& record, const ModelReference& reference) {
  if (!reference.url.empty()) return record.url == reference.url;
  if (record.repository != reference.repository) return false;
  if (reference.choice.empty()) return true;
  return std::any_of(record.files.begin(), record.files.end(), [&](const std::string& file) {
    return file == reference.choice || file.ends_with("/" + reference.choice) ||
           names_type(file, reference.choice);
  });
}

std::optional<PullRecord> find_record(const fs::path& folder, const ModelReference& reference) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder / kFolder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".json") names.push_back(it->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const auto record = read_record(folder, name);
    if (record && is_meant(*record, reference) && is_there(folder / record->path)) return record;
  }
  return std::nullopt;
}

}  // namespace longhaul
