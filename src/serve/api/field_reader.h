#pragma once
// Reads members of a request body and checks their types and bounds. A member whose value is null
// counts as absent. All functions throw ApiError that names the member if its value has another
// type or is outside [least, most].

#include <cstdint>
#include <optional>
#include <string>

#include "serve/api/json_text.h"

namespace longhaul::serve {

class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {}

  const Json* find(const char* name) const;
  bool has(const char* name) const { return find(name) != nullptr; }
  std::optional<bool> boolean(const char* name) const;
  std::optional<int64_t> integer(const char* name, int64_t least, int64_t most) const;
  std::optional<double> number(const char* name, double least, double most) const;
  std::optional<std::string> text(const char* name) const;

  template <class Number>
  void integer(const char* name, int64_t least, int64_t most, Number& into) const {
    if (const auto value = integer(name, least, most)) into = static_cast<Number>(*value);
  }
  void number(const char* name, double least, double most, float& into) const {
    if (const auto value = number(name, least, most)) into = static_cast<float>(*value);
  }

 private:
  const Json& object_;
};

/// Returns an integer, which may be written as 3.0. Throws ApiError that names `name` if the value
/// is not an integer or is outside [least, most].
int64_t integer_of(const Json& value, const std::string& name, int64_t least, int64_t most);

}  // namespace longhaul::serve
