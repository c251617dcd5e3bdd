#pragma once
// State files of calibrations: the kind of calibration, its settings, and numbers.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct StateKey {
  std::string_view method;  ///< "duo"
  std::string settings;     ///< settings that distinguish states, including the model
};

void write_state(const std::filesystem::path& file, const StateKey& key,
                 const nlohmann::json& numbers);

/// UserError if the file belongs to another method, another model or other settings.
nlohmann::json read_state(const std::filesystem::path& file, const StateKey& key);

/// Reads key `name` of a state: a list of `count` finite numbers (-1: any number of them).
/// UserError otherwise.
std::vector<double> state_numbers(const nlohmann::json& state, const char* name, int64_t count,
                                  const std::filesystem::path& file);

/// Reads key `name`: a whole number from 0 to `most`. UserError otherwise.
int64_t state_integer(const nlohmann::json& state, const char* name, int64_t most,
                      const std::filesystem::path& file);

[[noreturn]] void refuse_damaged(const std::filesystem::path& file);

}  // namespace longhaul
