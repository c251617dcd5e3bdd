#include "attention/parts/head_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/nth.h"
#include "text/json_file.h"
#include "text/number_lines.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::json;

constexpr int64_t kMost = HeadPattern::kMost;
constexpr const char* kNames[] = {"stream_llm", "vertical_and_slash", "block_sparse"};

/// What `use` makes of the file that option `key` names. Its UserErrors begin with the file's
/// name; here they get the option before it: "--attention duo: gates=heads.tsv: ...".
auto with_option(std::string_view method, std::string_view key, auto use) {
  try {
    return use();
  } catch (const UserError& problem) {
    user_error("--attention {}: {}={}", method, key, problem.what());
  }
}

/// The table whose name ends in `_stride`.
const json& find_table(const json& tables, int stride, const std::string& file, std::string& name) {
  const std::string ending = fmt::format("_{}", stride);
  for (const auto& [key, table] : tables.items()) {
    if (key.ends_with(ending)) {
      name = key;
      return table;
    }
  }
  user_error("{}: no table for stride={}: none whose name ends in {}", file, stride, ending);
}

HeadThresholds read_tables(const std::filesystem::path& path, int stride, int layers, int heads) {
  const std::string file = path.string();
  const json document = read_json_file(path);
  const auto tables = document.find("thresholds");
  if (tables == document.end() || !tables->is_object()) {
    user_error("{}: has no 'thresholds' with a table for every stride", file);
  }
  std::string name;
  const json& table = find_table(*tables, stride, file, name);
  name = printable(name);
  if (!table.is_array() || table.size() != static_cast<size_t>(layers)) {
    user_error("{}: {}: has {} layers, the model has {}", file, name, table.size(), layers);
  }
  HeadThresholds thresholds;
  for (const json& row : table) {
    if (!row.is_array() || row.size() != static_cast<size_t>(heads)) {
      user_error("{}: {}: layer {} has {} heads, the model has {}", file, name, thresholds.size(),
                 row.size(), heads);
    }
    thresholds.emplace_back();
    for (const json& value : row) {
      if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > 1) {
        user_error("{}: {}: layer {}: {} is no number from 0 to 1", file, name,
                   thresholds.size() - 1, printable(value.dump()));
      }
      thresholds.back().push_back(value.get<double>());
    }
  }
  return thresholds;
}

int64_t count_of(const json& value, const std::string& where) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > kMost) {
    user_error("{}: {} is no number from 0 to {}", where, printable(value.dump()), kMost);
  }
  return value.get<int64_t>();
}

HeadPattern read_pattern(const json& entry, const std::string& where) {
  if (!entry.is_array() || entry.size() < 3 || !entry[0].is_string()) {
    user_error("{}: is not [kind, vertical, slash, score]", where);
  }
  HeadPattern pattern;
  const std::string kind = entry[0].get<std::string>();
  size_t k = 0;
  while (k < std::size(kNames) && kind != kNames[k]) ++k;
  if (k == std::size(kNames)) {
    user_error("{}: unknown pattern {}: vertical_and_slash, stream_llm or block_sparse", where,
               printable(kind));
  }
  pattern.kind = static_cast<PatternKind>(k);
  pattern.vertical = count_of(entry[1], where);
  pattern.slash = count_of(entry[2], where);
  if (pattern.kind == PatternKind::kAShape && pattern.slash == 0) {
    user_error("{}: a window of 0 keys leaves rows without any", where);
  }
  if (entry.size() > 3 && entry[3].is_number()) pattern.score = entry[3].get<double>();
  return pattern;
}

HeadPatterns read_layers(const std::filesystem::path& path, int layers, int heads) {
  const std::string file = path.string();
  const json document = read_json_list(path);
  if (document.size() != static_cast<size_t>(layers)) {
    user_error("{}: has patterns of {} layers, the model has {}", file, document.size(), layers);
  }
  HeadPatterns patterns;
  for (size_t layer = 0; layer < document.size(); ++layer) {
    const json& entries = document[layer];
    if (!entries.is_object() || entries.size() != static_cast<size_t>(heads)) {
      user_error("{}: layer {} has patterns of {} heads, the model has {}", file, layer,
                 entries.is_object() ? entries.size() : 0, heads);
    }
    patterns.emplace_back();
    for (int head = 0; head < heads; ++head) {
      const auto found = entries.find(std::to_string(head));
      if (found == entries.end()) user_error("{}: layer {} lacks head {}", file, layer, head);
      patterns.back().push_back(
          read_pattern(*found, fmt::format("{}: layer {}, head {}", file, layer, head)));
    }
  }
  return patterns;
}

}  // namespace

HeadGates read_gates(const std::filesystem::path& file, std::span<const int> kv_heads) {
  HeadGates gates = with_option("duo", "gates", [&] {
    return read_number_lines(
        file, kv_heads, {"gate; a gate file has a row of numbers per layer", "layer", "KV heads"});
  });
  for (auto& layer : gates) {
    for (double& gate : layer) gate = std::clamp(gate, 0.0, 1.0);
  }
  return gates;
}

std::string gates_text(const HeadGates& gates) {
  std::string text;
  for (const auto& layer : gates) {
    for (size_t head = 0; head < layer.size(); ++head) {
      text += fmt::format("{}{:.6f}", head == 0 ? "" : "\t", layer[head]);
    }
    text += "\n";
  }
  return text;
}

HeadThresholds read_thresholds(const std::filesystem::path& file, int stride, int layers,
                               int heads) {
  return with_option("xattention", "thresholds",
                     [&] { return read_tables(file, stride, layers, heads); });
}

HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads) {
  return with_option("minference", "patterns", [&] { return read_layers(file, layers, heads); });
}

void write_patterns(const std::filesystem::path& path, const HeadPatterns& patterns) {
  json document = json::array();
  for (const auto& layer : patterns) {
    json entries = json::object();
    for (size_t head = 0; head < layer.size(); ++head) {
      const HeadPattern& p = layer[head];
      entries[std::to_string(head)] = {nth(kNames, p.kind), p.vertical, p.slash, p.score};
    }
    document.push_back(std::move(entries));
  }
  with_option("minference", "save", [&] { replace_file(path, document.dump() + "\n"); });
}

void check_writable(const std::filesystem::path& path) {
  with_option("minference", "save", [&] { expect_writable(path); });
}

void archive_patterns(Archive& archive, HeadPatterns& patterns) {
  for (auto& layer : patterns) {
    for (HeadPattern& p : layer) {
      auto kind = static_cast<uint8_t>(p.kind);
      archive.number(kind);
      archive.number(p.vertical);
      archive.number(p.slash);
      p.kind = static_cast<PatternKind>(kind % 3);
      archive.expect(kind < 3 && p.in_range(),
                     "it does not hold minference's patterns of this model");
    }
  }
}

}  // namespace longhaul
