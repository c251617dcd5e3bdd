#pragma once
// Reads the results of `longhaul eval` from a folder.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RunFolder {
  std::string name;  ///< name of the folder, or its path if several folders have this name
  nlohmann::ordered_json info;  ///< contents of run.json (record.h lists the keys); an object
  std::vector<Record> records;
  /// Whether the last line of samples.jsonl is incomplete, because the run was killed or is still
  /// running.
  bool torn = false;
};

/// Reads the folder of a run. Throws UserError if run.json is missing or is not an object. Also
/// throws UserError if samples.jsonl has an invalid line; the message names the line and the key.
RunFolder read_run(const std::filesystem::path& folder);

/// Reads several folders and gives them unique names. Throws UserError if a folder is given twice.
std::vector<RunFolder> read_runs(const std::vector<std::filesystem::path>& folders);

/// Returns the command lines that have computed answers of the run: the list "commands" in
/// run.json, or else "command". The result is empty if run.json has neither.
std::vector<std::string> commands_of(const RunFolder& run);

/// Returns a value of run.json as text for display. Numbers and lists are formatted for readers,
/// and other values as JSON. The result is empty for null.
std::string info_text(const nlohmann::ordered_json& value);

}  // namespace longhaul
