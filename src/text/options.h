#pragma once
// Defines options that users write as key=value. Each option is a member of a struct. A function
// declare() of the struct declares each member once, with its range, unit and description.
//
//   struct Options {
//     int64_t capacity = 2048;
//     Pooling pooling = Pooling::kAverage;
//     void declare(OptionList& o) {
//       o.integer(capacity, "capacity", 2, 1 << 24, "tokens", "rows that a head keeps");
//       o.choice(pooling, "pooling", {"avg", "max"}, "how scores are pooled");
//     }
//   };
//
// The member's initializer is the default. From these declarations, the program prints the help,
// checks the user's values and fills the struct. Attention methods declare their options in this
// way.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// The kinds of options. The value of a kText contains no comma. A kFile is the name of a file to
/// read. A kOutputFile is the name of a file to write, and only the command line may set it. Some
/// attention methods have a component that an option selects by its name. The value of a
/// kPartOptions consists of the options of this component, joined by +
/// ("gamma=0.9+min_budget=1024").
enum class OptionKind : uint8_t {
  kInteger,
  kReal,
  kBool,
  kChoice,
  kText,
  kFile,
  kOutputFile,
  kPartOptions
};

/// The canonical texts of option values, by key.
using OptionValues = std::map<std::string, std::string, std::less<>>;

class Option {
 public:
  std::string_view key;
  OptionKind kind = OptionKind::kText;
  std::string fallback;        ///< default as text; "auto" for a number without a fixed default
  std::string_view unit;       ///< "tokens", "share" and so on; empty: none
  double least = 0, most = 0;  ///< inclusive range of numbers
  std::vector<std::string_view> choices;
  /// For kFile: values with a meaning of their own, which are not names of files.
  std::vector<std::string_view> not_files;
  std::string_view help;  ///< description in one line
  /// Condition under which the option has an effect, such as "mode=stream". Empty: always.
  std::string_view only_with;
  std::string_view part_key;  ///< for kPartOptions: key of the option that selects the component
  /// Whether the option was added to the program after users could already have saved sessions.
  /// Fingerprints of saved sessions then include it only if it does not have its default value, so
  /// that old sessions stay valid.
  bool later = false;

  bool takes_auto() const { return fallback == "auto"; }
  /// Returns whether this value of a kFile is the name of a file.
  bool names_file(std::string_view value) const;

  /// Declares that the option has an effect only if `holds` returns true for the members of the
  /// struct. `words` describes the condition to users ("mode=stream", "gates", "no threshold").
  /// `by` names the options on which the condition depends, separated by "|". The condition must
  /// not compare a number with its least or greatest permitted value, because programs that try
  /// many settings use these two values.
  Option& only(std::function<bool()> holds, std::string_view words, std::string_view by);

  /// Returns the canonical form of a value: a number without unnecessary digits, or true or false.
  /// Throws UserError if the value is not permitted. The message has the owner of the option,
  /// `whose` (such as "--attention snapkv"), the option, the value and the range.
  std::string canonical(std::string_view whose, std::string_view value) const;
  /// Returns the reason why the option has no effect, such as "with mode=oneshot" or "without
  /// gates". Returns nothing if the option has an effect. `values` are the values from which the
  /// struct was filled.
  std::optional<std::string> idle(const OptionValues& values) const;
  /// Returns whether all options on which the condition of only() depends are among `keys`.
  bool decided_by(const std::vector<std::string>& keys) const;

 private:
  friend class OptionList;
  Option& as(OptionKind what) {
    kind = what;
    return *this;
  }
  std::function<bool()> holds_;
  std::vector<std::string_view> by_;
  std::function<void(const std::string&)> set_;  ///< sets the member from a canonical text
};

/// The options of one struct. The struct must outlive the list and must not move.
class OptionList {
 public:
  /// Declares an option whose member is an int64_t or a std::optional<int64_t>. An optional member
  /// is empty by default. Users see this default as "auto", and `help` must explain its meaning.
  template <class Integer>
  Option& integer(Integer& member, std::string_view key, int64_t least, int64_t most,
                  std::string_view unit, std::string_view help) {
    return number(member, OptionKind::kInteger, key, {double(least), double(most)}, unit, help);
  }
  /// Like integer(), for double.
  template <class Real>
  Option& real(Real& member, std::string_view key, double least, double most, std::string_view unit,
               std::string_view help) {
    return number(member, OptionKind::kReal, key, {least, most}, unit, help);
  }
  Option& flag(bool& member, std::string_view key, std::string_view help);
  Option& text(std::string& member, std::string_view key, std::string_view unit,
               std::string_view help);
  Option& file(std::string& member, std::string_view key, std::string_view help,
               std::initializer_list<std::string_view> words = {});
  Option& output_file(std::string& member, std::string_view key, std::string_view help);
  Option& part_options(std::string& member, std::string_view key, std::string_view part_key,
                       std::string_view help);
  /// Declares an option whose member is an enumeration. `names` are the names of its values 0, 1
  /// and so on.
  template <class Enum>
  Option& choice(Enum& member, std::string_view key, std::initializer_list<std::string_view> names,
                 std::string_view help) {
    return choice_at(
        key, names, static_cast<size_t>(member),
        [&member](size_t at) { member = static_cast<Enum>(at); }, help);
  }

  /// Declares an option whose member is set to the selected name. `names` must be string literals,
  /// because the member refers to their memory.
  Option& choice(std::string_view& member, std::string_view key,
                 std::initializer_list<std::string_view> names, std::string_view help);

  /// Declares a requirement: the options can be used only if `holds` returns true for the members
  /// of the struct. `words` describes the requirement to users.
  void needs(std::function<bool()> holds, std::string_view words);

  const std::vector<Option>& options() const { return options_; }
  /// Returns `words` of needs(), or an empty string if there is no requirement.
  std::string_view needed() const { return needed_; }
  bool has_what_it_needs() const { return !has_needed_ || has_needed_(); }
  const Option* find(std::string_view key) const;
  /// Sets the members. A member whose key is missing keeps its default.
  void set(const OptionValues& values) const;

 private:
  struct Range {
    double least, most;
  };
  template <class Number>
  Option& number(Number& member, OptionKind kind, std::string_view key, Range range,
                 std::string_view unit, std::string_view help);
  Option& add(std::string_view key, OptionKind kind, std::string fallback, std::string_view help);
  Option& choice_at(std::string_view key, std::initializer_list<std::string_view> names, size_t now,
                    std::function<void(size_t)> set, std::string_view help);

  std::vector<Option> options_;
  std::string_view needed_;
  std::function<bool()> has_needed_;
};

/// Splits an option value such as "5/7/8" at the slashes. A list is not separated by commas,
/// because a comma ends the option.
std::vector<std::string_view> split_values(std::string_view text);

}  // namespace longhaul
