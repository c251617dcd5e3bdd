#pragma once
// Refusals of shared readers with the names that the client's API has.

#include <string>
#include <string_view>
#include <vector>

#include "serve/api/api_error.h"

namespace longhaul::serve {

struct FieldName {
  std::string_view from, to;
};

/// Returns the refusal with another name of its field, which begins with one of `names`; the first
/// of these counts.
inline ApiError with_field_names(const ApiError& error, const std::vector<FieldName>& names) {
  for (const auto& [from, to] : names) {
    if (!error.param.starts_with(from)) continue;
    std::string message = error.what();
    if (message.starts_with(from)) message.replace(0, from.size(), to);
    return {error.status, error.type, error.code, message,
            std::string(to) + error.param.substr(from.size())};
  }
  return error;
}

/// Calls `read`, whose refusals name fields of another API.
template <class Read>
void renamed_field(const std::vector<FieldName>& names, Read read) {
  try {
    read();
  } catch (const ApiError& error) {
    throw with_field_names(error, names);
  }
}

/// Calls `read`, whose refusals name members of an object without its own name.
template <class Read>
void in_member(const std::string& prefix, Read read) {
  renamed_field({{"", prefix}}, std::move(read));
}

}  // namespace longhaul::serve
