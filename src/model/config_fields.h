#pragma once
// ConfigFields reads single keys of a Hugging Face config.json. A null value is treated as missing.
// If a value has the wrong type, the functions throw a UserError that names the file and the key.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "format/hf_folder.h"
#include "text/printable.h"

namespace longhaul {

class ConfigFields {
 public:
  /// The keys are read from the config.json in `documents`, or from the JSON object `object`. Error
  /// messages then name `file` as the file of the object. `documents` and `object` must outlive
  /// this object.
  explicit ConfigFields(const HfDocuments& documents)
      : ConfigFields((documents.folder / "config.json").string(), documents.config) {}
  ConfigFields(std::string file, const nlohmann::json& object)
      : file_(std::move(file)), object_(object) {}

  const std::string& file() const { return file_; }
  const nlohmann::json& object() const { return object_; }

  bool has(const char* key) const { return object_.contains(key) && !object_.at(key).is_null(); }

  int integer(const char* key) const {
    if (!has(key)) user_error("{}: '{}' is missing", file_, key);
    const nlohmann::json& value = object_.at(key);
    if (!value.is_number_integer()) wrong(key, "an integer");
    const auto n = value.get<int64_t>();
    if (n < 0 || n > (1 << 30)) user_error("{}: '{}' is {}", file_, key, n);
    return static_cast<int>(n);
  }

  double real(const char* key, double fallback) const {
    if (!has(key)) return fallback;
    if (!object_.at(key).is_number()) wrong(key, "a number");
    return object_.at(key).get<double>();
  }

  std::string text(const char* key, const char* fallback) const {
    if (!has(key)) return fallback;
    if (!object_.at(key).is_string()) wrong(key, "a string");
    return object_.at(key).get<std::string>();
  }

  bool flag(const char* key, bool fallback = false) const {
    if (!has(key)) return fallback;
    if (!object_.at(key).is_boolean()) wrong(key, "true or false");
    return object_.at(key).get<bool>();
  }

 private:
  [[noreturn]] void wrong(const char* key, const char* expected) const {
    user_error("{}: '{}' is {}, expected {}", file_, key, printable(object_.at(key).dump()),
               expected);
  }

  std::string file_;
  const nlohmann::json& object_;
};

}  // namespace longhaul
