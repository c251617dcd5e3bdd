#pragma once
// Helpers for reading files that have a value for every layer and head, and that an option of an
// attention method names. If a value is invalid, or the numbers of layers or heads differ from
// those of the model, the readers throw a UserError that names the option, the file, the layer and
// the head.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/nth.h"
#include "text/printable.h"

namespace longhaul {

/// Calls use() and returns its result. use() must read the file that the option `key` names. If
/// use() throws a UserError, whose message begins with the name of the file, the message is
/// prefixed with the option: "--attention duo: gates=heads.tsv: ...".
inline auto with_option(std::string_view method, std::string_view key, auto use) {
  try {
    return use();
  } catch (const UserError& problem) {
    user_error("--attention {}: {}={}", method, key, problem.what());
  }
}

/// Calls use(layer, entry, where) for the entry of every layer and head in `table`. `table` is an
/// array of layers. A layer is an array of heads, or an object whose keys are head numbers. `where`
/// names the file, layer and head, for error messages.
inline void each_head(const nlohmann::json& table, const std::string& file, int layers, int heads,
                      auto use) {
  if (!table.is_array() || table.size() != static_cast<size_t>(layers)) {
    user_error("{}: has {} layers, the model has {}", file, table.size(), layers);
  }
  for (int layer = 0; layer < layers; ++layer) {
    const nlohmann::json& row = nth(table, layer);
    const size_t size = row.is_structured() ? row.size() : 0;
    if (size != static_cast<size_t>(heads)) {
      user_error("{}: layer {} has {} heads, the model has {}", file, layer, size, heads);
    }
    for (int head = 0; head < heads; ++head) {
      const std::string key = std::to_string(head);
      if (row.is_object() && !row.contains(key)) {
        user_error("{}: layer {} lacks head {}", file, layer, head);
      }
      const nlohmann::json& entry = row.is_object() ? row[key] : nth(row, head);
      use(layer, entry, fmt::format("{}: layer {}, head {}", file, layer, head));
    }
  }
}

/// Returns `value`. Throws UserError if it is not a number from 0 to `most`.
template <class Number>
Number number_of(const nlohmann::json& value, Number most, const std::string& where) {
  const bool fits = std::is_integral_v<Number> ? value.is_number_integer() : value.is_number();
  if (!fits || value.get<Number>() < 0 || value.get<Number>() > most) {
    user_error("{}: {} is no number from 0 to {}", where, printable(value.dump()), most);
  }
  return value.get<Number>();
}

}  // namespace longhaul
