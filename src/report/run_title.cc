#include "report/run_title.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace longhaul {
namespace {

using nlohmann::ordered_json;

std::string member(const ordered_json& object, const char* key, const char* inner = nullptr) {
  const auto it = object.find(key);
  if (it == object.end()) return "";
  if (inner == nullptr || !it->is_object()) return info_text(*it);
  const auto found = it->find(inner);
  return found == it->end() ? "" : info_text(*found);
}

/// The distinct values, in order.
template <class Value>
std::string joined(std::span<const RunFolder> runs, Value&& value) {
  std::vector<std::string> found;
  for (const RunFolder& run : runs) {
    const std::string text = value(run.info);
    if (!text.empty() && std::find(found.begin(), found.end(), text) == found.end())
      found.push_back(text);
  }
  std::string out;
  for (const std::string& text : found) out += (out.empty() ? "" : ", ") + text;
  return out;
}

}  // namespace

std::string run_title(std::span<const RunFolder> runs) {
  const std::string models = joined(runs, [](const ordered_json& info) {
    const std::string name = member(info, "model", "name");  // show only the last part of a path
    return name.substr(name.find_last_of('/') + 1);
  });
  return models.empty() ? "Evaluation" : "Evaluation of " + models;
}

std::string run_subtitle(std::span<const RunFolder> runs) {
  const std::string cpu =
      joined(runs, [](const ordered_json& i) { return member(i, "machine", "cpu"); });
  const std::string threads =
      joined(runs, [](const ordered_json& i) { return member(i, "machine", "threads"); });
  const std::string version = joined(runs, [](const ordered_json& i) {
    const std::string number = member(i, "version"), build = member(i, "build");
    if (build.empty()) return number;
    return fmt::format("{}{}(build {})", number, number.empty() ? "" : " ", build);
  });
  const std::string date =
      joined(runs, [](const ordered_json& i) { return member(i, "started").substr(0, 10); });
  const std::string seed = joined(runs, [](const ordered_json& i) {
    const auto it = i.find("seed");
    return it != i.end() && it->is_number() ? it->dump() : std::string();
  });
  std::string line = version.empty() ? "Longhaul" : "Longhaul " + version;
  if (!cpu.empty()) line += " on " + cpu;
  if (!threads.empty()) line += fmt::format(", {} thread{}", threads, threads == "1" ? "" : "s");
  if (!seed.empty()) line += ", seed " + seed;
  if (!date.empty()) line += ", " + date;
  return line + ".";
}

}  // namespace longhaul
