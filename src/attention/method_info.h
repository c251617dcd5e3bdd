#pragma once
// How a method introduces itself: its name, its options, when to use it, how it is made.

#include <memory>
#include <span>
#include <string_view>

#include "attention/method.h"
#include "attention/method_options.h"

namespace longhaul {

struct MethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one line: what it keeps
  std::string_view when;     ///< one line: when it helps
  std::string_view paper;
  std::span<const OptionInfo> options;
  std::unique_ptr<AttentionMethod> (*make)(const MethodOptions& options, const ModelShape& shape);
  std::string_view keeps = "";  ///< one sentence: what stays or is seen, what is gone for good
  std::string_view harms = "";  ///< one sentence: what is answered worse with it
  /// A condition (attention/option_condition.h) that its options must meet to make it, where no
  /// default does for every model; empty: none.
  std::string_view needs = "";
};

}  // namespace longhaul
