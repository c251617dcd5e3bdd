#include "cli/json_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace longhaul {

std::string json_text(const nlohmann::ordered_json& value) {
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  return value.dump(2, ' ', false, replace) + "\n";
}

void print_json(const nlohmann::ordered_json& value) {
  std::fputs(json_text(value).c_str(), stdout);
}

}  // namespace longhaul
