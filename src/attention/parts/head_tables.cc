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

constexpr const char* kNames[] = {"stream_llm", "vertical_and_slash", "block_sparse"};

/// Returns use(), for the file named by option `key`. UserErrors from use() begin with the file's
/// name; this function puts the option before it: "--attention duo: gates=heads.tsv: ...".
auto with_option(std::string_view method, std::string_view key, auto use) {
  try {
    return use();
  } catch (const UserError& problem) {
    user_error("--attention {}: {}={}", method, key, problem.what());
  }
}

/// Calls use(layer, entry, where) for the entry of every layer and head in `table`. A layer's heads
/// are a list, or an object keyed by head number.
void each_head(const json& table, const std::string& file, int layers, int heads, auto use) {
  if (!table.is_array() || table.size() != static_cast<size_t>(layers)) {
    user_error("{}: has {} layers, the model has {}", file, table.size(), layers);
  }
  for (int layer = 0; layer < layers; ++layer) {
    const json& row = nth(table, layer);
    const size_t size = row.is_structured() ? row.size() : 0;
    if (size != static_cast<size_t>(heads)) {
      user_error("{}: layer {} has {} heads, the model has {}", file, layer, size, heads);
    }
    for (int head = 0; head < heads; ++head) {
      const std::string key = std::to_string(head);
      if (row.is_object() && !row.contains(key)) {
        user_error("{}: layer {} lacks head {}", file, layer, head);
      }
      const json& entry = row.is_object() ? row[key] : nth(row, head);
      use(layer, entry, fmt::format("{}: layer {}, head {}", file, layer, head));
    }
  }
}

/// A number from 0 to `most`.
template <class Number>
Number number_of(const json& value, Number most, const std::string& where) {
  const bool fits = std::is_integral_v<Number> ? value.is_number_integer() : value.is_number();
  if (!fits || value.get<Number>() < 0 || value.get<Number>() > most) {
    user_error("{}: {} is no number from 0 to {}", where, printable(value.dump()), most);
  }
  return value.get<Number>();
}

HeadThresholds read_tables(const std::filesystem::path& path, int stride, int layers, int heads) {
  const std::string ending = fmt::format("_{}", stride);
  const json tables = read_json_file(path).value("thresholds", json::object());
  HeadThresholds thresholds(static_cast<size_t>(layers));
  for (const auto& [name, table] : tables.items()) {
    if (!name.ends_with(ending)) continue;
    each_head(table, fmt::format("{}: {}", path.string(), printable(name)), layers, heads,
              [&](int layer, const json& entry, const std::string& where) {
                nth(thresholds, layer).push_back(number_of(entry, 1.0, where));
              });
    return thresholds;
  }
  user_error("{}: has no 'thresholds' for stride={}: no table whose name ends in {}", path.string(),
             stride, ending);
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
  pattern.vertical = number_of(entry[1], HeadPattern::kMost, where);
  pattern.slash = number_of(entry[2], HeadPattern::kMost, where);
  if (pattern.kind == PatternKind::kAShape && pattern.slash == 0) {
    user_error("{}: a window of 0 keys leaves rows without any", where);
  }
  if (entry.size() > 3 && entry[3].is_number()) pattern.score = entry[3].get<double>();
  return pattern;
}

HeadPatterns read_layers(const std::filesystem::path& path, int layers, int heads) {
  HeadPatterns patterns(static_cast<size_t>(layers));
  each_head(read_json_list(path), path.string(), layers, heads,
            [&](int layer, const json& entry, const std::string& where) {
              nth(patterns, layer).push_back(read_pattern(entry, where));
            });
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
