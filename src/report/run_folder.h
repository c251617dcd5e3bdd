#pragma once
// What `longhaul eval` left in a folder, read back.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RunFolder {
  std::string name;             ///< the folder's own, or the path where names of several meet
  nlohmann::ordered_json info;  ///< run.json (record.h lists the keys); an object
  std::vector<Record> records;
  bool torn = false;  ///< the last line was cut off: the run was killed, or is still under way
};

/// UserError: no run.json, no object, or a bad line of samples.jsonl (named by number and key).
RunFolder read_run(const std::filesystem::path& folder);

/// Names that no two of them share. UserError when a folder is given twice.
std::vector<RunFolder> read_runs(const std::vector<std::filesystem::path>& folders);

/// Every command line that the run was made with: run.json's "commands", or "command" of runs that
/// tell only one. None where neither is a text.
std::vector<std::string> commands_of(const RunFolder& run);

/// The text at a key of run.json, wherever it came from: numbers and lists are printed as people
/// write them, other types as JSON; "" where there is none.
std::string info_text(const nlohmann::ordered_json& value);

}  // namespace longhaul
