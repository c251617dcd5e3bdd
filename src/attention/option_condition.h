#pragma once
// When an option has an effect (OptionInfo::only_with), as text that a person can read:
//
//   mode=easykv        the option `mode` is that; recall=always|prefill: one of them; != : none
//   gates              an option is set: neither empty nor "auto"
//   no threshold       it is not
//   one lambda         it has one value for all layers: no "/" in it
//   pattern=blocks or patterns and no vertical     "and" binds more than "or"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/method_options.h"

namespace longhaul {

struct OptionTerm {
  enum class Is { kSet, kNotSet, kOneForAll, kAmong, kNotAmong } is;
  std::string_view key;
  std::vector<std::string_view> values;  ///< of kAmong and kNotAmong
  std::string_view text;                 ///< as written

  bool holds_for(std::string_view value) const;
};

/// Alternatives of terms that must all hold; none for the empty condition.
std::vector<std::vector<OptionTerm>> parse_condition(std::string_view condition);

/// The canonical value of an option; none while it is not known: then any term holds for it.
using OptionValues = std::function<std::optional<std::string_view>(std::string_view key)>;

/// Why an option has no effect: "with mode=official", "without gates". None where it has one.
std::optional<std::string> unmet(const OptionInfo& option, const OptionValues& values);

}  // namespace longhaul
