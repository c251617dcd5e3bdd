#include "attention/methods/minference/pattern_file.h"

#include "attention/parts/head_files.h"
#include "base/durable_file.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

using nlohmann::json;

constexpr const char* kNames[] = {"stream_llm", "vertical_and_slash", "block_sparse"};

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
