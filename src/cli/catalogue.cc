#include "cli/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "base/program_folders.h"
#include "base/regular_file.h"
#include "hub/model_reference.h"
#include "text/json_text.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using nlohmann::json;

constexpr size_t kMostCatalogueBytes = size_t{4} << 20;
constexpr int kDeepest = 64;

std::string text_of(const json& entry, const char* key, const std::string& file) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_string() || found->get<std::string>().empty())
    user_error("{}: an entry has no text '{}'", file, key);
  return found->get<std::string>();
}

int64_t number_of(const json& entry, const char* key, const std::string& file) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_number_integer() || found->get<int64_t>() < 1)
    user_error("{}: an entry has no positive number '{}'", file, key);
  return found->get<int64_t>();
}

}  // namespace

std::vector<CatalogueEntry> parse_catalogue(const std::string& text, const std::string& file) {
  json document;
  try {
    document = parse_json(text, kDeepest);
  } catch (const UserError& error) {
    user_error("{}: {}", file, error.what());
  }
  if (!document.is_array()) user_error("{}: no list of models", file);
  std::vector<CatalogueEntry> entries;
  for (const json& entry : document) {
    if (!entry.is_object()) user_error("{}: an entry is no object", file);
    CatalogueEntry e;
    e.name = text_of(entry, "name", file);
    e.repository = text_of(entry, "repository", file);
    e.file = text_of(entry, "file", file);
    e.bytes = number_of(entry, "bytes", file);
    e.context = number_of(entry, "context", file);
    e.languages = text_of(entry, "languages", file);
    e.licence = text_of(entry, "licence", file);
    e.good_for = text_of(entry, "good_for", file);
    parse_reference("hf:" + e.repository + ":" + e.file);  // throws if invalid
    if (e.name.starts_with(".") || e.name.find('/') != std::string::npos)
      user_error("{}: {} is no plain name", file, printable(e.name));
    entries.push_back(std::move(e));
  }
  return entries;
}

std::vector<CatalogueEntry> read_catalogue() {
  for (const auto& folder : program_folders()) {
    const auto file = folder / "models" / "catalogue.json";
    if (!is_file(file)) continue;
    return parse_catalogue(read_regular_file(file, kMostCatalogueBytes), file.string());
  }
  return {};
}

std::optional<CatalogueEntry> find_in_catalogue(const std::string& name) {
  for (CatalogueEntry& entry : read_catalogue()) {
    if (entry.name == name) return std::move(entry);
  }
  return std::nullopt;
}

std::string catalogue_hint(const std::string& name) {
  const auto plain = [](std::string_view text) {  // "Llama-3.2:1b" and "llama3.2-1b" are alike
    std::string letters;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) != 0) letters += static_cast<char>(std::tolower(byte));
    }
    return letters;
  };
  const std::string asked = plain(name);
  const std::string family = asked.substr(0, asked.find_first_of("0123456789"));
  std::vector<std::string> close, related;
  for (const CatalogueEntry& entry : read_catalogue()) {
    const std::string known = plain(entry.name);
    if (!asked.empty() && (known.starts_with(asked) || asked.starts_with(known))) {
      close.push_back(entry.name);
    } else if (family.size() > 2 && known.starts_with(family)) {
      related.push_back(entry.name);
    }
  }
  const std::vector<std::string>& names = close.empty() ? related : close;
  if (names.empty()) return "";
  return fmt::format("; 'longhaul pull' has {}", fmt::join(names, ", "));
}

}  // namespace longhaul
