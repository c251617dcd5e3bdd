#include "attention/parts/head_patterns.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "attention/parts/option_file.h"
#include "base/archive.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "base/paths.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::json;

constexpr int64_t kMost = HeadPattern::kMost;
constexpr const char* kNames[] = {"stream_llm", "vertical_and_slash", "block_sparse"};

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

HeadPatterns read_patterns(const std::filesystem::path& file, int layers, int heads) {
  return read_option_file("minference", "patterns",
                          [&] { return read_layers(file, layers, heads); });
}

void write_patterns(const std::filesystem::path& path, const HeadPatterns& patterns) {
  json document = json::array();
  for (const auto& layer : patterns) {
    json entries = json::object();
    for (size_t head = 0; head < layer.size(); ++head) {
      const HeadPattern& p = layer[head];
      entries[std::to_string(head)] = {kNames[static_cast<size_t>(p.kind)], p.vertical, p.slash,
                                       p.score};
    }
    document.push_back(std::move(entries));
  }
  try {
    replace_file(path, document.dump() + "\n");
  } catch (const UserError& error) {
    user_error("--attention minference: save={}", error.what());
  }
}

void check_writable(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  const char* folder = parent.empty() ? "." : parent.c_str();
  const char* reason = "";
  if (access(folder, W_OK | X_OK) != 0) {
    if (errno == ENOENT) reason = ": no such folder";
  } else if (is_folder(path)) {
    reason = ": is a folder";
  } else {
    return;
  }
  user_error("--attention minference: save={}: cannot be written{}", path.string(), reason);
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
