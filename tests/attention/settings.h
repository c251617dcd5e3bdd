#pragma once
// The settings by which every method of the registry is tried, as `--attention` takes them.

#include <ostream>
#include <string>
#include <vector>

#include "attention/registry.h"

namespace longhaul::testing_support {

inline std::string with_options(const MethodInfo& info, std::string_view options) {
  std::string text(info.name);
  if (!options.empty()) text.append(":").append(options);
  return text;
}

/// Under which a method equals dense attention (MethodInfo::covers).
inline std::vector<std::string> covering_settings() {
  std::vector<std::string> all;
  for (const MethodInfo& info : attention_methods()) {
    for (const std::string_view options : info.covers) all.push_back(with_options(info, options));
  }
  return all;
}

/// Under which a method forgets, chooses or counts (MethodInfo::small).
struct Small {
  std::string spec;
  SmallSetting setting;
};
inline std::ostream& operator<<(std::ostream& out, const Small& small) { return out << small.spec; }

inline std::vector<Small> small_settings() {
  std::vector<Small> all;
  for (const MethodInfo& info : attention_methods()) {
    for (const SmallSetting& each : info.small) {
      all.push_back({with_options(info, each.options), each});
    }
  }
  return all;
}

}  // namespace longhaul::testing_support
