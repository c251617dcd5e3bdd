#pragma once
// Renames the members in errors of shared readers to the names that the client's API has.

#include <string>
#include <string_view>
#include <vector>

#include "serve/api/api_error.h"

namespace longhaul::serve {

struct FieldName {
  std::string_view from, to;
};

/// Returns the error with another name of its member. The member must begin with a name in `names`;
/// the first match is used.
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

/// Calls `read` and renames the member in an ApiError that it throws.
template <class Read>
void renamed_field(const std::vector<FieldName>& names, Read read) {
  try {
    read();
  } catch (const ApiError& error) {
    throw with_field_names(error, names);
  }
}

/// Calls `read`, which reads members of an object. If `read` throws an ApiError, the name of the
/// object is put in front of the name of the member.
template <class Read>
void in_member(const std::string& prefix, Read read) {
  renamed_field({{"", prefix}}, std::move(read));
}

}  // namespace longhaul::serve
