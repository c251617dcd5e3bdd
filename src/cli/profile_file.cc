#include "cli/profile_file.h"

#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/paths.h"

namespace longhaul {

void refuse_to_replace(std::span<const std::filesystem::path> files) {
  for (const std::filesystem::path& file : files) {
    if (is_there(file)) {
      user_error("--save: {} is there already; move it away first", file.string());
    }
    expect_writable(file);
  }
}

void write_profile(const std::filesystem::path& file, std::string_view method,
                   std::string_view found_by, const nlohmann::ordered_json& options,
                   const nlohmann::ordered_json& only_with) {
  nlohmann::ordered_json profile = {
      {"method", method}, {"found_by", found_by}, {"options", options}};
  if (!only_with.empty()) profile["only_with"] = only_with;
  replace_file(file, profile.dump(2) + "\n");
}

std::string option_text(const nlohmann::ordered_json& options) {
  std::string text;
  for (const auto& [key, value] : options.items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key,
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

}  // namespace longhaul
