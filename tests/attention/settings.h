#pragma once
// The settings with which every method of the registry is tested, in the notation of `--attention`.

#include <cctype>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attention/registry.h"

namespace longhaul::testing_support {

inline std::string with_options(const MethodInfo& info, std::string_view options) {
  std::string text(info.name);
  if (!options.empty()) text.append(":").append(options);
  return text;
}

/// Settings under which a method equals dense attention (MethodInfo::covers).
inline std::vector<std::string> covering_settings(
    std::span<const MethodInfo> methods = attention_methods()) {
  std::vector<std::string> all;
  for (const MethodInfo& info : methods) {
    for (const std::string_view options : info.covers) all.push_back(with_options(info, options));
  }
  return all;
}

/// Settings under which a method evicts, chooses or counts (MethodInfo::small).
struct Small {
  std::string spec;
  SmallSetting setting;
};
inline std::ostream& operator<<(std::ostream& out, const Small& small) { return out << small.spec; }

inline std::vector<Small> small_settings(
    std::span<const MethodInfo> methods = attention_methods()) {
  std::vector<Small> all;
  for (const MethodInfo& info : methods) {
    for (const SmallSetting& each : info.small) {
      all.push_back({with_options(info, each.options), each});
    }
  }
  return all;
}

/// The parts of a setting that are not numbers: "h2o mode=oneshot" for
/// "h2o:mode=oneshot,budget=60".
inline std::string kind_of(std::string_view spec) {
  const auto separates = [](char c) { return c == ':' || c == ',' || c == '+'; };
  std::string kind;
  while (!spec.empty()) {
    size_t end = 0;
    while (end < spec.size() && !separates(spec[end])) ++end;
    const std::string_view item = spec.substr(0, end);
    spec.remove_prefix(std::min(end + 1, spec.size()));
    const size_t value = item.rfind('=') + 1;  // the first option of a part follows two '='
    const bool number =
        value < item.size() && std::isdigit(static_cast<unsigned char>(item[value]));
    if (value == 0 || !number) kind.append(item).append(" ");
  }
  return kind;
}

inline const std::string& spec_of(const std::string& spec) { return spec; }
inline const std::string& spec_of(const Small& small) { return small.spec; }

/// The first setting of each kind, for tests on a whole model.
template <class Setting>
std::vector<Setting> first_of_each_kind(std::vector<Setting> all) {
  std::set<std::string> kinds;
  std::erase_if(all,
                [&](const Setting& each) { return !kinds.insert(kind_of(spec_of(each))).second; });
  return all;
}

}  // namespace longhaul::testing_support
