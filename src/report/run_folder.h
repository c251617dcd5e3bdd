#pragma once
// Reads the results of `longhaul eval` from a folder.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/record.h"

namespace longhaul {

struct RunFolder {
  std::string name;             ///< the folder's name, or its path if names of several are equal
  nlohmann::ordered_json info;  ///< run.json (record.h lists the keys); an object
  std::vector<Record> records;
  bool torn = false;  ///< the last line is incomplete: the run was killed, or is still running
};

/// UserError if there is no run.json, it is not an object, or samples.jsonl has an invalid line
/// (named by number and key).
RunFolder read_run(const std::filesystem::path& folder);

/// Reads several folders with unique names. UserError if a folder is given twice.
std::vector<RunFolder> read_runs(const std::vector<std::filesystem::path>& folders);

/// All command lines of the run: run.json's "commands", or "command" of runs that store only one.
/// Empty if neither is a text.
std::vector<std::string> commands_of(const RunFolder& run);

/// A value of run.json as text, in any form: numbers and lists are formatted for people, other
/// types as JSON; "" if there is none.
std::string info_text(const nlohmann::ordered_json& value);

}  // namespace longhaul
