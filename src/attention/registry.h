#pragma once
// All attention methods by name: description, options, factory, and the settings with which all
// test suites run them. A new method needs a source file in attention/methods/, a line in
// registry.cc and a page in docs/methods.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attention/method.h"
#include "text/options.h"

namespace longhaul {

/// Settings under which a method evicts, selects or counts within 700 tokens. Settings that differ
/// only in numbers are of one kind. The first setting of a kind acts within 300 tokens, and slow
/// suites run only that one.
struct SmallSetting {
  std::string_view options;  ///< "capacity=24,window=8"; empty: the defaults
  /// Largest position that a row sees in passes of 64 rows, for texts of any length.
  int64_t reach = kNoBound;
  bool lists_differ = false;   ///< lists of a layer may have different lengths
  bool loose_bounds = false;   ///< forecast and reach are tight only for much longer texts
  bool saves_nothing = false;  ///< stores and computes as much as dense attention
};

/// A method at its defaults, and the list that describes its options.
struct OptionSet {
  std::shared_ptr<void> options;
  OptionList list;
};

struct MethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one line: the rows it keeps
  std::string_view when;     ///< one line: its use case
  std::string_view keeps;    ///< one sentence: the rows kept or visible, and the rows lost for good
  std::string_view harms;    ///< one sentence: the kind of answers that get worse
  std::string_view paper;
  bool uncapped = false;  ///< unsuitable for models that cap their attention logits
  /// looks up blocks of older tokens, always including PromptFacts::evidence
  bool looks_up = false;
  /// Options with which it sees and keeps everything within 700 tokens, so that it equals dense
  /// attention.
  std::vector<std::string_view> covers;
  std::vector<SmallSetting> small;

  OptionSet (*describe)() = nullptr;  ///< returns a new set, at its defaults
  std::unique_ptr<Method> (*make)(const OptionSet& set, const ModelShape& shape) = nullptr;
};

/// The entry of a method whose options are its own members. The set of options is an instance of
/// the method, and the running method is made from its filled members. If M has fit(shape), it is
/// called with the model's shape and may throw UserError. Copy methods/keydiff.cc to begin a new
/// method.
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

/// Throws UserError if the budget has no room for the rows that are never evicted. `key` is the
/// method's name for the budget.
void expect_room(std::string_view method, int64_t budget, int64_t sink, int64_t recent,
                 std::string_view key = "capacity");

/// All methods of this build, in listing order.
std::span<const MethodInfo> attention_methods();

}  // namespace longhaul
