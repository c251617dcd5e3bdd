#pragma once
// Reads and writes the state files of calibrations. A state file contains the method, the settings
// and the numbers of a calibration (calibrate/calibration.h).

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct StateKey {
  std::string_view method;  ///< name of the method, such as "duo"
  /// Model and settings as text; a calibration can continue only if they are equal.
  std::string settings;
};

void write_state(const std::filesystem::path& file, const StateKey& key,
                 const nlohmann::json& numbers);

/// Reads the numbers of a state file. Throws UserError if the file belongs to another method,
/// another model or other settings.
nlohmann::json read_state(const std::filesystem::path& file, const StateKey& key);

/// Returns the member `name` of `state`. It must be a list of `count` finite numbers, or of any
/// number of them if `count` is -1. Throws UserError if the member is invalid.
std::vector<double> state_numbers(const nlohmann::json& state, const char* name, int64_t count,
                                  const std::filesystem::path& file);

/// Returns the member `name` of `state`, which must be an integer from 0 to `most`. Throws
/// UserError if the member is invalid.
int64_t state_integer(const nlohmann::json& state, const char* name, int64_t most,
                      const std::filesystem::path& file);

/// Throws the UserError that reports a damaged state file.
[[noreturn]] void refuse_damaged(const std::filesystem::path& file);

}  // namespace longhaul
