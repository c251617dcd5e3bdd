#pragma once
// JSON in data files, which may come from anywhere: every message names the file, the entry and the
// key.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "eval/data.h"

namespace longhaul {

/// A value in a data file, and where it stands ("qa/xquad.en.json entry 3").
struct DataValue {
  nlohmann::json json;
  std::string where;
};

/// A whole file. UserError: missing, no JSON, nested deeper than 64, more than 64 MiB.
DataValue data_json(const EvalData& data, std::string_view name);

/// A file of JSON lines whose objects are parsed when they are asked for: a task that takes a few
/// of many does not pay for the others. `data` must outlive it.
class DataJsonLines {
 public:
  /// UserError: missing, or without any line. Empty lines are skipped.
  DataJsonLines(const EvalData& data, std::string_view name);
  size_t size() const { return lines_.size(); }
  /// The bounds of data_json() hold for every line.
  DataValue at(size_t index) const;

 private:
  struct Line {
    std::string_view text;
    int64_t number = 0;  ///< in the file
  };
  std::string name_;
  std::vector<Line> lines_;
};

/// The objects of a file of JSON lines; at most the first `count` (-1: all).
std::vector<DataValue> data_json_lines(const EvalData& data, std::string_view name,
                                       int64_t count = -1);

/// The lines of a text file, without carriage returns and empty lines.
std::vector<std::string_view> data_lines(const EvalData& data, std::string_view name);

// UserError when the key is missing or of another kind.

/// The value of a key of any kind.
DataValue member(const DataValue& value, std::string_view key);
/// A text, or a number as text.
std::string text_member(const DataValue& value, std::string_view key);
/// A whole number from 1 to 2^31 - 1.
int count_member(const DataValue& value, std::string_view key);
/// A text, a number, or a list of these.
std::vector<std::string> texts_member(const DataValue& value, std::string_view key);
/// A list's elements, or those of a member list.
std::vector<DataValue> elements(const DataValue& list);
std::vector<DataValue> elements(const DataValue& value, std::string_view key);

}  // namespace longhaul
