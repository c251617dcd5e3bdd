#pragma once
// Reads JSON from untrusted data files. Every error message names the file, the entry and the key.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "eval/data.h"

namespace longhaul {

/// A JSON value in a data file, and its location for error messages ("qa/xquad.en.json entry 3").
struct DataValue {
  nlohmann::json json;
  std::string where;
};

/// Reads a whole file. Throws UserError if it is missing, is not JSON, is nested deeper than 64
/// levels, or has more than 64 MiB.
DataValue data_json(const EvalData& data, std::string_view name);

/// A file with one JSON object per line. An object is parsed only when at() returns it, because
/// many tasks use only a part of a file. `data` must outlive this object.
class DataJsonLines {
 public:
  /// Throws UserError if the file is missing or has no lines. Empty lines are skipped.
  DataJsonLines(const EvalData& data, std::string_view name);
  size_t size() const { return lines_.size(); }
  /// Parses the object with this index. The limits of data_json() apply to each line.
  DataValue at(size_t index) const;

 private:
  struct Line {
    std::string_view text;
    int64_t number = 0;  ///< line number in the file
  };
  std::string name_;
  std::vector<Line> lines_;
};

/// Returns the first `count` objects of a file with one JSON object per line, or all if `count` is
/// -1.
std::vector<DataValue> data_json_lines(const EvalData& data, std::string_view name,
                                       int64_t count = -1);

/// Returns the lines of a text file, without carriage returns and empty lines.
std::vector<std::string_view> data_lines(const EvalData& data, std::string_view name);

// The functions below throw UserError if the key is missing or its value has another type.

/// Returns the value of a key, whatever its type is.
DataValue member(const DataValue& value, std::string_view key);
/// Returns a key's value as a string. The value may also be a number, which is converted.
std::string text_member(const DataValue& value, std::string_view key);
/// Returns a key's value, an integer from 1 to 2^31 - 1.
int count_member(const DataValue& value, std::string_view key);
/// Returns a key's value as a list of strings. The value is a string, a number, or a list of these.
std::vector<std::string> texts_member(const DataValue& value, std::string_view key);
/// Returns the elements of the list `list`, or of the list that is the value of `key`.
std::vector<DataValue> elements(const DataValue& list);
std::vector<DataValue> elements(const DataValue& value, std::string_view key);

}  // namespace longhaul
