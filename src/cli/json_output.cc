#include "cli/json_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace longhaul {

void print_json(const nlohmann::ordered_json& value) {
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  std::puts(value.dump(2, ' ', false, replace).c_str());
}

}  // namespace longhaul
