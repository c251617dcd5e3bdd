#pragma once
// Lists all attention methods by name, with description, options, factory and settings for tests. A
// new method needs a source file in attention/methods/, a line in registry.cc and a page in
// docs/methods.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attention/method.h"
#include "text/options.h"

namespace longhaul {

/// Options with which a method evicts rows, selects keys or limits their distance already in a text
/// of 700 tokens. All test suites run the method with these options. Settings that differ only in
/// numeric options are of the same kind. The first setting of each kind has these effects already
/// in a text of 300 tokens. Slow test suites run only the first settings.
struct SmallSetting {
  std::string_view options;  ///< such as "capacity=24,window=8"; empty: the defaults
  /// Largest distance between a query row and a key that this row sees (AttentionDriver::reach), in
  /// texts of any length that are processed in passes of 64 rows.
  int64_t reach = kNoBound;
  bool lists_differ = false;  ///< whether the lists of a layer may have different lengths
  /// Whether the memory forecast and the reach are close upper bounds only in texts that are much
  /// longer than 700 tokens.
  bool loose_bounds = false;
  /// Whether the method stores and computes as much as dense attention.
  bool saves_nothing = false;
};

/// The options of a method with their default values, and their descriptions.
struct OptionSet {
  std::shared_ptr<void> options;  ///< the object that holds the values
  OptionList list;
};

struct MethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one line: which rows the method keeps
  std::string_view when;     ///< one line: when to use the method
  std::string_view keeps;    ///< one sentence: which rows are kept or visible, and which are lost
  std::string_view harms;    ///< one sentence: which kinds of answers get worse
  std::string_view paper;    ///< reference to the publication
  /// Whether the method is unsuitable for models that cap their attention logits.
  bool uncapped = false;
  /// Whether the method selects blocks of older tokens from an index. It then also includes the
  /// blocks that contain tokens of PromptFacts::evidence.
  bool looks_up = false;
  /// Settings with which all rows of a text of 700 tokens are kept and visible, so that the method
  /// equals dense attention.
  std::vector<std::string_view> covers;
  std::vector<SmallSetting> small;

  OptionSet (*describe)() = nullptr;  ///< returns a new set with default values
  std::unique_ptr<Method> (*make)(const OptionSet& set, const ModelShape& shape) = nullptr;
};

/// Returns the registry entry of a method class M, whose options are members of M. An OptionSet
/// holds an instance of M, and the method that runs is created from this instance. If M has a
/// function fit(shape), it is called with the shape of the model, and may throw UserError. To write
/// a new method, copy methods/keydiff/keydiff.cc.
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

/// Throws UserError if a list that keeps `budget` rows has no room for the rows that are never
/// evicted (sink + recent). `key` is the name of the option that sets the budget.
void expect_room(std::string_view method, int64_t budget, int64_t sink, int64_t recent,
                 std::string_view key = "capacity");

/// Returns all methods of this build, in the order in which they are listed.
std::span<const MethodInfo> attention_methods();

}  // namespace longhaul
