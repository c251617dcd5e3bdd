#pragma once
// Options that people write as key=value: members of a struct, each declared once with its range,
// unit and help.
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
// what a user wrote and fills the struct. Attention methods have theirs so.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// A text holds no comma; a file is the name of one to read, an output file that of one to write,
/// which only the command line may name; a part's options are those of what another option names,
/// joined by + ("gamma=0.9+min_budget=1024").
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
  std::string fallback;        ///< the default, as text; "auto" (of a number): the help says what
  std::string_view unit;       ///< "tokens", "share", ...; empty for none
  double least = 0, most = 0;  ///< inclusive range of numbers
  std::vector<std::string_view> choices;
  std::string_view help;       ///< one line
  std::string_view only_with;  ///< when it has an effect, in words: "mode=stream"; empty: always
  std::string_view part_key;   ///< of kPartOptions: the option that names the part
  bool later = false;  ///< it came after sessions were saved: at its default no fingerprint has it

  bool takes_auto() const { return fallback == "auto"; }

  /// The option has an effect only where `holds` says so of the struct's members: `words` tells it
  /// to people ("mode=stream", "gates", "no threshold"), `by` names the options that decide it,
  /// with bars between them. Never a number at the end of its range: a sweep over one runs to both
  /// ends.
  Option& only(std::function<bool()> holds, std::string_view words, std::string_view by);

  /// The canonical form of a value: a number without needless digits, true or false. Throws
  /// UserError that names `whose` option it is ("--attention snapkv"), option, value and range.
  std::string canonical(std::string_view whose, std::string_view value) const;
  /// Why the option has no effect, given the values that the struct was filled with: "with
  /// mode=oneshot", "without gates". None where it has one.
  std::optional<std::string> idle(const OptionValues& values) const;
  /// Whether the options that decide it are all among `keys`.
  bool decided_by(const std::vector<std::string>& keys) const;

 private:
  friend class OptionList;
  Option& as(OptionKind what) {
    kind = what;
    return *this;
  }
  std::function<bool()> holds_;
  std::vector<std::string_view> by_;
  std::function<void(const std::string&)> set_;  ///< the member, from a canonical text
};

/// The options of one struct, which must outlive the list and not move.
class OptionList {
 public:
  /// The member is an int64_t, or std::optional of one: without a default, "auto", of which the
  /// help says what it means.
  template <class Integer>
  Option& integer(Integer& member, std::string_view key, int64_t least, int64_t most,
                  std::string_view unit, std::string_view help) {
    return number(member, OptionKind::kInteger, key, {double(least), double(most)}, unit, help);
  }
  /// The same with double.
  template <class Real>
  Option& real(Real& member, std::string_view key, double least, double most, std::string_view unit,
               std::string_view help) {
    return number(member, OptionKind::kReal, key, {least, most}, unit, help);
  }
  Option& flag(bool& member, std::string_view key, std::string_view help);
  Option& text(std::string& member, std::string_view key, std::string_view unit,
               std::string_view help);
  Option& file(std::string& member, std::string_view key, std::string_view help);
  Option& output_file(std::string& member, std::string_view key, std::string_view help);
  Option& part_options(std::string& member, std::string_view key, std::string_view part_key,
                       std::string_view help);
  /// An enumeration whose values 0, 1, ... have these names.
  template <class Enum>
  Option& choice(Enum& member, std::string_view key, std::initializer_list<std::string_view> names,
                 std::string_view help) {
    return choice_at(
        key, names, static_cast<size_t>(member),
        [&member](size_t at) { member = static_cast<Enum>(at); }, help);
  }

  /// A choice that is kept as its name, which lives as long as the program.
  Option& choice(std::string_view& member, std::string_view key,
                 std::initializer_list<std::string_view> names, std::string_view help);

  /// The struct is of use only where `holds` says so of the members: `words` tell it to people.
  void needs(std::function<bool()> holds, std::string_view words);

  const std::vector<Option>& options() const { return options_; }
  std::string_view needed() const { return needed_; }  ///< empty: nothing
  bool has_what_it_needs() const { return !has_needed_ || has_needed_(); }
  const Option* find(std::string_view key) const;
  /// Fills the members; keys that are not there leave the default.
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

/// "5/7/8": options that hold several values, as a comma would end the option.
std::vector<std::string_view> split_values(std::string_view text);

}  // namespace longhaul
