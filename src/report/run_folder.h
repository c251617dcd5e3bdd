#pragma once
// Reads the results of `longhaul eval` from a folder.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RunFolder {
  std::string name;  ///< the folder's name, or its path if several folders have this name
  nlohmann::ordered_json info;  ///< run.json (record.h lists the keys); an object
  std::vector<Record> records;
  bool torn = false;  ///< the last line is incomplete: the run was killed, or is still running
};

/// Reads a folder. Throws UserError if run.json is missing or is not an object, or if samples.jsonl
/// has an invalid line, which is named by number and key.
RunFolder read_run(const std::filesystem::path& folder);

/// Reads several folders and gives them unique names. Throws UserError if a folder is given twice.
std::vector<RunFolder> read_runs(const std::vector<std::filesystem::path>& folders);

/// Returns all command lines of the run. They are "commands" in run.json, or "command" in runs that
/// store only one. The result is empty if neither exists.
std::vector<std::string> commands_of(const RunFolder& run);

/// Returns a value of run.json as text. Numbers and lists are formatted for people, other types as
/// JSON. The result is "" for null.
std::string info_text(const nlohmann::ordered_json& value);

}  // namespace longhaul
