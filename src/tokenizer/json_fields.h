#pragma once
// Reads JSON from users. Every error message is one line that names the file and the key.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longhaul {

/// A JSON value and its location, such as "tokenizer.json: model.vocab", which error messages
/// contain.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string where)
      : value_(value), where_(std::move(where)) {}

  const nlohmann::json& value() const { return value_; }
  const std::string& where() const { return where_; }
  bool is_null() const { return value_.is_null(); }

  /// Returns a member of an object, or JSON null if it is absent. Throws UserError if this is not
  /// an object.
  JsonField operator[](std::string_view key) const;
  /// Returns the element of an array at `index`.
  JsonField at(size_t index) const;
  size_t array_size() const;  ///< throws UserError if this is not an array

  std::string text() const;
  int64_t integer() const;
  bool flag(bool when_absent) const;
  std::string text_or(std::string_view when_absent) const;
  /// Returns the member "type" of an object. The result is empty if the value is null.
  std::string type() const;

  [[noreturn]] void wrong(std::string_view wanted) const;

 private:
  const nlohmann::json& value_;
  std::string where_;
};

/// Parses JSON. Throws UserError if the text is not JSON, or if it is nested too deep or has too
/// many values (check_json_shape()). `where` is the name of the file.
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace longhaul
