#pragma once
// Every attention method by name: how it introduces itself, its options, how it is made, and the
// settings by which all test suites try it. A new method is a source file in attention/methods/,
// its line in registry.cc and its page in docs/methods.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attention/method.h"
#include "text/options.h"

namespace longhaul {

/// Settings under which a method forgets, chooses or counts within 700 tokens. Those that differ in
/// numbers alone are of one kind, and the first of a kind does so within 300 (slow suites take no
/// other).
struct SmallSetting {
  std::string_view options;  ///< "capacity=24,window=8"; empty: the defaults
  /// Farthest position that a row is shown in passes of 64 rows, however long the text is.
  int64_t reach = kNoBound;
  bool lists_differ = false;   ///< lists of a layer may have lengths of their own
  bool loose_bounds = false;   ///< forecast and reach bound what only much longer texts need
  bool saves_nothing = false;  ///< keeps and computes no less than dense attention
};

/// A method at its defaults, and the list that describes its options.
struct OptionSet {
  std::shared_ptr<void> options;
  OptionList list;
};

struct MethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one line: what it keeps
  std::string_view when;     ///< one line: when it helps
  std::string_view keeps;    ///< one sentence: what stays or is seen, what is gone for good
  std::string_view harms;    ///< one sentence: what is answered worse with it
  std::string_view paper;
  bool uncapped = false;  ///< it is for models only that do not cap their attention's logits
  bool looks_up = false;  ///< blocks of older tokens, PromptFacts::evidence always among them
  /// Options under which it sees and keeps everything of 700 tokens, so that it equals dense.
  std::vector<std::string_view> covers;
  std::vector<SmallSetting> small;

  OptionSet (*describe)() = nullptr;  ///< a new set, at its defaults
  std::unique_ptr<Method> (*make)(const OptionSet& set, const ModelShape& shape) = nullptr;
};

/// The entry of a method whose options are members of its own: the set of options is a method
/// itself, from whose filled members the one that runs is made. Where M has fit(shape), that is
/// called with the model's shape, and may throw UserError. methods/keydiff.cc is the one to copy.
template <class M>
MethodInfo method_info(MethodInfo info) {
  info.describe = [] {
    const auto method = std::make_shared<M>();
    OptionSet set{method, {}};
    method->declare(set.list);
    return set;
  };
  info.make = [](const OptionSet& set, const ModelShape& shape) -> std::unique_ptr<Method> {
    auto method = std::make_unique<M>(std::move(*static_cast<M*>(set.options.get())));
    if constexpr (requires { method->fit(shape); }) method->fit(shape);
    return method;
  };
  return info;
}

/// Refuses a budget that has no room for the rows that always stay: UserError.
/// `key` is the method's name for it.
void expect_room(std::string_view method, int64_t budget, int64_t sink, int64_t recent,
                 std::string_view key = "capacity");

/// All methods of this build, in the order in which they are listed.
std::span<const MethodInfo> attention_methods();

}  // namespace longhaul
