#include "engine/known_profiles.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "attention/profile.h"
#include "attention/registry.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "base/paths.h"
#include "engine/model_names.h"
#include "text/printable.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> methods_in(const fs::path& folder) {
  std::vector<std::string> methods;
  for (const MethodInfo& method : attention_methods()) {
    if (is_file(profile_path((folder / "").string(), method.name)))
      methods.emplace_back(method.name);
  }
  return methods;
}

}  // namespace

std::vector<KnownProfiles> known_profiles() {
  std::vector<KnownProfiles> known;
  for (const fs::path& models : model_folders()) {
    std::error_code error;
    for (fs::directory_iterator it(models / "profiles", error), end; !error && it != end;
         it.increment(error)) {
      if (!is_folder(it->path())) continue;
      known.push_back({it->path().filename().string(), it->path(), methods_in(it->path())});
    }
  }
  std::sort(known.begin(), known.end(),
            [](const KnownProfiles& a, const KnownProfiles& b) { return a.name < b.name; });
  return known;
}

std::filesystem::path find_profiles(const std::string& text) {
  if (is_folder(text)) return text;
  std::vector<std::string> names;
  for (const KnownProfiles& known : known_profiles()) {
    if (known.name == text) return known.folder;
    names.push_back(known.name);
  }
  user_error("--profiles {}: no such folder, and no known profiles of that name{} (known: {})",
             printable(text), nearest_name_hint(text, names), fmt::join(names, ", "));
}

}  // namespace longhaul
