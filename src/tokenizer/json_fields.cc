#include "tokenizer/json_fields.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/json_text.h"

namespace longhaul {

namespace {
const nlohmann::json kNull;
}

void JsonField::wrong(std::string_view wanted) const {
  // Scalars only: printing a value nested a million deep would overflow the stack.
  std::string found =
      value_.is_structured() ? "an " + std::string(value_.type_name()) : value_.dump(-1, ' ', true);
  if (found.size() > 60) found = found.substr(0, 60) + "...";
  user_error("{} should be {}, but is {}", where_, wanted, found);
}

JsonField JsonField::operator[](std::string_view key) const {
  if (!value_.is_object()) wrong("an object");
  const auto found = value_.find(key);
  std::string shown_key(key);  // may come from the file
  for (char& c : shown_key) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  const std::string separator = where_.find(": ") == std::string::npos ? ": " : ".";
  return {found == value_.end() ? kNull : *found, where_ + separator + shown_key};
}

JsonField JsonField::at(size_t index) const {
  return {value_[index], fmt::format("{}[{}]", where_, index)};
}

size_t JsonField::array_size() const {
  if (!value_.is_array()) wrong("a list");
  return value_.size();
}

std::string JsonField::text() const {
  if (!value_.is_string()) wrong("a text");
  return value_.get<std::string>();
}

int64_t JsonField::integer() const {
  if (!value_.is_number_integer()) wrong("an integer");
  if (value_.is_number_unsigned() && value_.get<uint64_t>() > uint64_t{INT64_MAX}) {
    wrong("a smaller integer");
  }
  return value_.get<int64_t>();
}

bool JsonField::flag(bool when_absent) const {
  if (is_null()) return when_absent;
  if (!value_.is_boolean()) wrong("true or false");
  return value_.get<bool>();
}

std::string JsonField::text_or(std::string_view when_absent) const {
  return is_null() ? std::string(when_absent) : text();
}

std::string JsonField::type() const { return is_null() ? std::string() : (*this)["type"].text(); }

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  constexpr int kDeepest = 64;
  try {
    check_json_shape(text, kDeepest);
    return nlohmann::json::parse(text);
  } catch (const UserError& problem) {
    user_error("{}: {}", where, problem.what());
  } catch (const nlohmann::json::parse_error& error) {  // its message would quote the text
    user_error("{}: not valid JSON at byte {} of {}", where, error.byte, text.size());
  } catch (const nlohmann::json::exception&) {
    user_error("{}: not valid JSON: has a number beyond f64", where);
  }
}

}  // namespace longhaul
