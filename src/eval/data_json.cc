#include "eval/data_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/json_text.h"

namespace longhaul {
namespace {

nlohmann::json parse(std::string_view text, const std::string& where) {
  constexpr int kDeepest = 64;
  try {
    return parse_json(text, kDeepest);
  } catch (const UserError& problem) {
    user_error("{}: {}", where, problem.what());
  }
}

std::string as_text(const nlohmann::json& json, const std::string& where, std::string_view key) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number() || json.is_boolean()) return json.dump();
  user_error("{}: key \"{}\" is no text", where, key);
}

/// Removes the next line from `rest` and returns it without its line end.
std::string_view take_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

const nlohmann::json& find(const DataValue& value, std::string_view key) {
  if (!value.json.is_object()) user_error("{}: is no JSON object", value.where);
  const auto it = value.json.find(key);
  if (it == value.json.end()) user_error("{}: key \"{}\" is missing", value.where, key);
  return *it;
}

}  // namespace

DataValue data_json(const EvalData& data, std::string_view name) {
  const std::string where(name);
  return {parse(data.text(name), where), where};
}

DataJsonLines::DataJsonLines(const EvalData& data, std::string_view name) : name_(name) {
  std::string_view rest = data.text(name);
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines_.push_back({line, number});
  }
  if (lines_.empty()) user_error("{}: holds no entries", name);
}

DataValue DataJsonLines::at(size_t index) const {
  const Line& line = lines_.at(index);
  std::string where = fmt::format("{} line {}", name_, line.number);
  nlohmann::json json = parse(line.text, where);
  if (!json.is_object()) user_error("{}: is no JSON object", where);
  return {std::move(json), std::move(where)};
}

std::vector<DataValue> data_json_lines(const EvalData& data, std::string_view name, int64_t count) {
  const DataJsonLines lines(data, name);
  const size_t all = lines.size();
  const size_t wanted = count < 0 ? all : std::min(all, static_cast<size_t>(count));
  std::vector<DataValue> values;
  for (size_t i = 0; i < wanted; ++i) values.push_back(lines.at(i));
  return values;
}

std::vector<std::string_view> data_lines(const EvalData& data, std::string_view name) {
  std::vector<std::string_view> lines;
  for (std::string_view rest = data.text(name); !rest.empty();) {
    const std::string_view line = take_line(rest);
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) user_error("{}: holds no lines", name);
  return lines;
}

DataValue member(const DataValue& value, std::string_view key) {
  return {find(value, key), fmt::format("{} key \"{}\"", value.where, key)};
}

std::string text_member(const DataValue& value, std::string_view key) {
  return as_text(find(value, key), value.where, key);
}

int count_member(const DataValue& value, std::string_view key) {
  const nlohmann::json& json = find(value, key);
  if (!json.is_number_unsigned() || json.get<uint64_t>() < 1 || json.get<uint64_t>() > INT32_MAX) {
    user_error("{}: key \"{}\" is no whole number from 1 to {}", value.where, key, INT32_MAX);
  }
  return json.get<int>();
}

std::vector<std::string> texts_member(const DataValue& value, std::string_view key) {
  const nlohmann::json& json = find(value, key);
  if (!json.is_array()) return {as_text(json, value.where, key)};
  std::vector<std::string> texts;
  for (const nlohmann::json& element : json) texts.push_back(as_text(element, value.where, key));
  return texts;
}

std::vector<DataValue> elements(const DataValue& list) {
  if (!list.json.is_array()) user_error("{}: is no JSON list", list.where);
  std::vector<DataValue> values;
  for (const nlohmann::json& element : list.json) {
    values.push_back({element, fmt::format("{} entry {}", list.where, values.size())});
  }
  return values;
}

std::vector<DataValue> elements(const DataValue& value, std::string_view key) {
  return elements(member(value, key));
}

}  // namespace longhaul
