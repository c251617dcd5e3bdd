#pragma once
// Options written by users as key=value. They are members of a struct, each declared once with its
// range, unit and help.
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
// The member's initializer is the default. The same function describes the options in help, checks
// the user's values and fills the struct. Attention methods declare their options in this way.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// A text contains no comma. A file is the name of a file to read. An output file is the name of a
/// file to write, which only the command line may set. Part options are the options of the part
/// named by another option, joined by + ("gamma=0.9+min_budget=1024").
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

/// Canonical texts of options, by key.
using OptionValues = std::map<std::string, std::string, std::less<>>;

class Option {
 public:
  std::string_view key;
  OptionKind kind = OptionKind::kText;
  std::string fallback;   ///< the default, as text; "auto" (for a number): explained in the help
  std::string_view unit;  ///< "tokens", "share", ...; empty for none
  double least = 0, most = 0;  ///< inclusive range of numbers
  std::vector<std::string_view> choices;
  std::vector<std::string_view> not_files;  ///< for kFile: values that are no file names
  std::string_view help;                    ///< one line
  /// description of its condition: "mode=stream"; empty: always has an effect
  std::string_view only_with;
  std::string_view part_key;  ///< for kPartOptions: the option that names the part
  /// added after sessions were saved: excluded from fingerprints at its default
  bool later = false;

  bool takes_auto() const { return fallback == "auto"; }
  /// Whether this value of a kFile is a file's name.
  bool names_file(std::string_view value) const;

  /// Restricts the option: it has an effect only if `holds` returns true for the struct's members.
  /// `words` describes this to users ("mode=stream", "gates", "no threshold"). `by` names the
  /// options in the condition, separated by bars. The condition must not depend on a number being
  /// at an end of its range, because a sweep runs over both ends.
  Option& only(std::function<bool()> holds, std::string_view words, std::string_view by);

  /// The canonical form of a value: a number without needless digits, true or false. Throws
  /// UserError with the owner `whose` ("--attention snapkv"), option, value and range.
  std::string canonical(std::string_view whose, std::string_view value) const;
  /// The reason why the option has no effect, given the values with which the struct was filled:
  /// "with mode=oneshot", "without gates". None if it has an effect.
  std::optional<std::string> idle(const OptionValues& values) const;
  /// Whether all options in its condition are among `keys`.
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

/// The options of one struct, which must outlive the list and not move.
class OptionList {
 public:
  /// The member is an int64_t, or std::optional of one: without a default, "auto", which the help
  /// explains.
  template <class Integer>
  Option& integer(Integer& member, std::string_view key, int64_t least, int64_t most,
                  std::string_view unit, std::string_view help) {
    return number(member, OptionKind::kInteger, key, {double(least), double(most)}, unit, help);
  }
  /// Variant of integer() for double.
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
  /// The member is an enumeration whose values 0, 1, ... have these names.
  template <class Enum>
  Option& choice(Enum& member, std::string_view key, std::initializer_list<std::string_view> names,
                 std::string_view help) {
    return choice_at(
        key, names, static_cast<size_t>(member),
        [&member](size_t at) { member = static_cast<Enum>(at); }, help);
  }

  /// The member stores the chosen name, which lives as long as the program.
  Option& choice(std::string_view& member, std::string_view key,
                 std::initializer_list<std::string_view> names, std::string_view help);

  /// Declares that the struct is usable only if `holds` returns true for the members; `words`
  /// describes this to users.
  void needs(std::function<bool()> holds, std::string_view words);

  const std::vector<Option>& options() const { return options_; }
  std::string_view needed() const { return needed_; }  ///< empty: no requirement
  bool has_what_it_needs() const { return !has_needed_ || has_needed_(); }
  const Option* find(std::string_view key) const;
  /// Fills the members; missing keys leave the default.
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

/// "5/7/8": values of options that hold several, since a comma would end the option.
std::vector<std::string_view> split_values(std::string_view text);

}  // namespace longhaul
