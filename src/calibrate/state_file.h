#pragma once
// Reads and writes the state files of calibrations. A file contains the kind of calibration, its
// settings and numbers.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct StateKey {
  std::string_view method;  ///< name of the method, such as "duo"
  std::string settings;     ///< settings that must be equal to continue, including the model
};

void write_state(const std::filesystem::path& file, const StateKey& key,
                 const nlohmann::json& numbers);

/// Reads the numbers of a state file. Throws UserError if the file belongs to another method,
/// another model or other settings.
nlohmann::json read_state(const std::filesystem::path& file, const StateKey& key);

/// Returns the value of `name`, a list of `count` finite numbers. count = -1 allows any number of
/// them. Throws UserError if the value is invalid.
std::vector<double> state_numbers(const nlohmann::json& state, const char* name, int64_t count,
                                  const std::filesystem::path& file);

/// Returns the value of `name`, an integer from 0 to `most`. Throws UserError if the value is
/// invalid.
int64_t state_integer(const nlohmann::json& state, const char* name, int64_t most,
                      const std::filesystem::path& file);

/// Throws the UserError for a damaged state file.
[[noreturn]] void refuse_damaged(const std::filesystem::path& file);

}  // namespace longhaul
