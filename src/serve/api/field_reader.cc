#include "serve/api/field_reader.h"

#include <cmath>

#include "serve/api/api_error.h"

namespace longhaul::serve {

const Json* FieldReader::find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> FieldReader::boolean(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse_field(name, "is not true or false");
  return value->get<bool>();
}

int64_t integer_of(const Json& value, const std::string& name, int64_t least, int64_t most) {
  double number = 0;
  if (value.is_number_unsigned()) {
    number = static_cast<double>(value.get<uint64_t>());
  } else if (value.is_number_integer()) {
    number = static_cast<double>(value.get<int64_t>());
  } else if (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>()) {
    number = value.get<double>();
  } else {
    refuse_field(name, "is no integer");
  }
  if (number < static_cast<double>(least) || number > static_cast<double>(most)) {
    refuse_field(name, "{} is not from {} to {}", number, least, most);
  }
  return value.is_number_float() ? static_cast<int64_t>(number) : value.get<int64_t>();
}

std::optional<int64_t> FieldReader::integer(const char* name, int64_t least, int64_t most) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return integer_of(*value, name, least, most);
}

std::optional<double> FieldReader::number(const char* name, double least, double most) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse_field(name, "is no number");
  const double number = value->get<double>();
  if (!(number >= least && number <= most)) {
    refuse_field(name, "{} is not from {} to {}", number, least, most);
  }
  return number;
}

std::optional<std::string> FieldReader::text(const char* name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse_field(name, "is no text");
  return value->get<std::string>();
}

}  // namespace longhaul::serve
