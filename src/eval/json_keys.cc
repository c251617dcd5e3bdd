#include "eval/json_keys.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/printable.h"

namespace longhaul {

void refuse_doubled_keys(std::string_view text) {
  using nlohmann::json;
  std::vector<std::set<std::string>> open;  // keys of the objects that have begun
  const auto look = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      user_error("key {} is given twice", printable(value.get<std::string>()));
    }
    return true;
  };
  const json read = json::parse(text, look);
  LH_ASSERT(!read.is_discarded());
}

}  // namespace longhaul
