#include "calibrate/state_file.h"

#include <cmath>

#include "base/durable_file.h"
#include "base/error.h"
#include "text/json_file.h"

namespace longhaul {

using nlohmann::json;

void write_state(const std::filesystem::path& file, const StateKey& key, const json& numbers) {
  json document = numbers;
  document["training"] = key.method;
  document["settings"] = key.settings;
  replace_file(file, document.dump(1) + "\n");
}

json read_state(const std::filesystem::path& file, const StateKey& key) {
  json document = read_json_file(file);
  const auto text = [&](const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (text("training") != key.method) {
    user_error("{}: is no state of 'longhaul calibrate {}'", file.string(), key.method);
  }
  if (text("settings") != key.settings) {
    user_error("{}: is of another model or other settings; name another file for these",
               file.string());
  }
  return document;
}

std::vector<double> state_numbers(const json& state, const char* name, int64_t count,
                                  const std::filesystem::path& file) {
  const auto found = state.find(name);
  if (found == state.end() || !found->is_array() ||
      (count >= 0 && found->size() != static_cast<size_t>(count))) {
    user_error("{}: key \"{}\": is no list{}", file.string(), name,
               count >= 0 ? fmt::format(" of {} numbers", count) : "");
  }
  std::vector<double> list;
  for (const json& value : *found) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      user_error("{}: key \"{}\": holds what is no number", file.string(), name);
    }
    list.push_back(value.get<double>());
  }
  return list;
}

int64_t state_integer(const json& state, const char* name, int64_t most,
                      const std::filesystem::path& file) {
  const auto found = state.find(name);
  if (found == state.end() || !found->is_number_integer() || found->get<int64_t>() < 0 ||
      found->get<int64_t>() > most) {
    user_error("{}: key \"{}\": is no whole number from 0 to {}", file.string(), name, most);
  }
  return found->get<int64_t>();
}

void refuse_damaged(const std::filesystem::path& file) {
  user_error("{}: is damaged", file.string());
}

}  // namespace longhaul
