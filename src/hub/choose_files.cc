#include "hub/choose_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/error.h"
#include "base/saturated_sum.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Default types in order of preference: small with little loss first.
constexpr std::string_view kUsual[] = {
    "Q4_K_M", "Q4_K_S", "Q4_0",   "IQ4_NL",  "IQ4_XS", "Q5_K_M",  "Q5_K_S", "Q5_0",
    "Q6_K",   "Q8_0",   "Q4_1",   "Q5_1",    "MXFP4",  "Q3_K_L",  "Q3_K_M", "Q3_K_S",
    "IQ3_M",  "IQ3_S",  "BF16",   "F16",     "F32",    "IQ3_XXS", "Q2_K",   "Q2_K_S",
    "IQ2_M",  "IQ2_S",  "IQ2_XS", "IQ2_XXS", "TQ2_0",  "TQ1_0",   "IQ1_M",  "IQ1_S"};
constexpr std::string_view kSmallFiles[] = {"config.json",
                                            "generation_config.json",
                                            "tokenizer.json",
                                            "tokenizer_config.json",
                                            "tekken.json",
                                            "tokenizer.model",
                                            "model.safetensors.index.json"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Turns "model-00002-of-00003.gguf" into "model", the same for all shards of a set; other names
/// are unchanged.
std::string set_of(const std::string& path) {
  constexpr size_t kEnding = std::string_view("-00001-of-00003.gguf").size();
  if (path.size() <= kEnding) return path;
  const std::string ending = path.substr(path.size() - kEnding);
  const auto digits = [&](size_t at) {
    return std::all_of(ending.begin() + static_cast<long>(at),
                       ending.begin() + static_cast<long>(at) + 5,
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  const bool shard = ending[0] == '-' && digits(1) && ending.substr(6, 4) == "-of-" && digits(10);
  return shard ? path.substr(0, path.size() - kEnding) : path;
}

using Sets = std::map<std::string, std::vector<HubFile>>;

/// GGUF models with their shards, without the image parts and statistics files in some
/// repositories.
Sets gguf_sets(const HubRepository& repository) {
  Sets sets;
  for (const HubFile& file : repository.files) {
    const std::string name = lower(base_name(file.path));
    if (!name.ends_with(".gguf")) continue;
    if (name.find("mmproj") != std::string::npos || name.find("imatrix") != std::string::npos)
      continue;
    sets[set_of(file.path)].push_back(file);
  }
  return sets;
}

std::vector<std::string> names_of(const Sets& sets) {
  std::vector<std::string> names;
  for (const auto& [name, files] : sets) names.push_back(base_name(name));
  return names;
}

/// The sets that match the choice.
Sets matching(const Sets& sets, const std::string& choice) {
  Sets found;
  for (const auto& [name, files] : sets) {
    for (const HubFile& file : files) {
      if (file.path == choice || base_name(file.path) == choice) return {{name, files}};
    }
    if (names_type(name, choice)) found.emplace(name, files);
  }
  return found;
}

Sets usual(const Sets& sets) {
  if (sets.size() == 1) return sets;
  for (const std::string_view type : kUsual) {
    if (Sets found = matching(sets, std::string(type)); !found.empty()) return found;
  }
  return sets;
}

ChosenFiles folder_of(const HubRepository& repository) {
  ChosenFiles chosen{{}, true};
  bool config = false, weights = false;
  for (const HubFile& file : repository.files) {
    const bool small = std::find(std::begin(kSmallFiles), std::end(kSmallFiles), file.path) !=
                       std::end(kSmallFiles);
    const bool tensors = file.path.starts_with("model") && file.path.ends_with(".safetensors") &&
                         file.path.find('/') == std::string::npos;
    if (!small && !tensors) continue;
    config = config || file.path == "config.json";
    weights = weights || tensors;
    chosen.files.push_back(file);
  }
  if (!config || !weights) {
    user_error("{}: holds neither a GGUF file nor config.json with model.safetensors",
               repository.name);
  }
  return chosen;
}

}  // namespace

int64_t ChosenFiles::bytes() const {
  int64_t bytes = 0;
  for (const HubFile& file : files) bytes = saturated_sum(bytes, file.bytes);
  return bytes;
}

bool names_type(std::string_view file, std::string_view type) {
  const std::string name = lower(file), word = lower(type);
  if (word.empty()) return false;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !is_word(name[at - 1]);
    const bool ends = end == name.size() || (!is_word(name[end]) && name[end] != '_');
    if (begins && ends) return true;
  }
  return false;
}

ChosenFiles choose_files(const HubRepository& repository, const std::string& choice) {
  const Sets sets = gguf_sets(repository);
  if (sets.empty() && choice.empty()) return folder_of(repository);
  if (sets.empty()) user_error("{}: holds no GGUF file", repository.name);
  const Sets found = choice.empty() ? usual(sets) : matching(sets, choice);
  if (found.empty()) {
    user_error("{}: has no file or type {}; there are: {}", repository.name, printable(choice),
               fmt::join(names_of(sets), ", "));
  }
  if (found.size() > 1) {
    user_error("{}: say which file: {}", repository.name, fmt::join(names_of(found), ", "));
  }
  const auto& [name, files] = *found.begin();
  return {files, false};
}

}  // namespace longhaul
