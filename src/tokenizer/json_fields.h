#pragma once
// Access to user-supplied JSON: every error is one line with file and key.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longhaul {

/// A JSON value and its location ("tokenizer.json: model.vocab") for messages.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string where)
      : value_(value), where_(std::move(where)) {}

  const nlohmann::json& value() const { return value_; }
  const std::string& where() const { return where_; }
  bool is_null() const { return value_.is_null(); }

  /// A member; JSON null if absent. UserError if this is not an object.
  JsonField operator[](std::string_view key) const;
  /// An element of an array.
  JsonField at(size_t index) const;
  size_t array_size() const;  ///< UserError if it is not an array

  std::string text() const;
  int64_t integer() const;
  bool flag(bool when_absent) const;
  std::string text_or(std::string_view when_absent) const;
  /// The type of `{"type": ...}` objects; empty if null.
  std::string type() const;

  [[noreturn]] void wrong(std::string_view wanted) const;

 private:
  const nlohmann::json& value_;
  std::string where_;
};

/// Parses; UserError if it is not JSON or has a hostile shape (check_json_shape()). `where` is the
/// file's name.
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace longhaul
