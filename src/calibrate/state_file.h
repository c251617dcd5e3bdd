#pragma once
// The file by which a calibration goes on: which one it is, of what settings, and numbers.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

struct StateKey {
  std::string_view method;  ///< "duo"
  std::string settings;     ///< what makes two states different, the model among it
};

void write_state(const std::filesystem::path& file, const StateKey& key,
                 const nlohmann::json& numbers);

/// UserError where the file is of another method, another model or other settings.
nlohmann::json read_state(const std::filesystem::path& file, const StateKey& key);

/// Key `name` of a state: a list of `count` finite numbers (any number of them for -1). UserError.
std::vector<double> state_numbers(const nlohmann::json& state, const char* name, int64_t count,
                                  const std::filesystem::path& file);

/// Key `name`: a whole number from 0 to `most`. UserError.
int64_t state_integer(const nlohmann::json& state, const char* name, int64_t most,
                      const std::filesystem::path& file);

[[noreturn]] void refuse_damaged(const std::filesystem::path& file);

}  // namespace longhaul
