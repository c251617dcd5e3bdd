#pragma once
// Several APIs share the functions that read members, but have other names for these members. The
// functions of this file replace the name in an error by the name in the client's API.

#include <string>
#include <string_view>
#include <vector>

#include "serve/api/api_error.h"

namespace longhaul::serve {

struct FieldName {
  std::string_view from, to;
};

/// Returns the error with the name of its member replaced. Uses the first entry of `names` whose
/// `from` is a prefix of the name, and replaces this prefix by `to`. Without such an entry, the
/// error is unchanged.
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

/// Calls `read`. If `read` throws an ApiError, renames its member as with_field_names() does.
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
