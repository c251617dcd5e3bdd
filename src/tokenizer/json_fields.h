#pragma once
// Reads JSON from users. Every error message is one line that names the file and the key.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longhaul {

/// A JSON value, and its location for messages, such as "tokenizer.json: model.vocab".
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
  /// Returns an element of an array.
  JsonField at(size_t index) const;
  size_t array_size() const;  ///< throws UserError if this is not an array

  std::string text() const;
  int64_t integer() const;
  bool flag(bool when_absent) const;
  std::string text_or(std::string_view when_absent) const;
  /// Returns the type of a `{"type": ...}` object. The result is empty for null.
  std::string type() const;

  [[noreturn]] void wrong(std::string_view wanted) const;

 private:
  const nlohmann::json& value_;
  std::string where_;
};

/// Parses JSON. Throws UserError if it is invalid or has a hostile shape (check_json_shape()).
/// `where` is the name of the file.
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace longhaul
