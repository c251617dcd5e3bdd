#pragma once
// What options a method has, and the values that it reads them from.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// A text holds no comma; a file is the name of one to read, an output file that of one to write,
/// which only the command line may name; a method's options are those of the method that another
/// option names, joined by + ("gamma=0.9+min_budget=1024").
enum class OptionKind {
  kInteger,
  kReal,
  kBool,
  kChoice,
  kText,
  kFile,
  kOutputFile,
  kMethodOptions
};

struct OptionInfo {
  std::string_view key;
  OptionKind kind;
  std::string_view fallback;   ///< the default, as text; "auto" (of a number): the help says what
  std::string_view unit;       ///< "tokens", "share", ...; empty for none
  double least = 0, most = 0;  ///< inclusive range of numbers; both 0: any
  std::string_view choices;    ///< "paper|repo"
  std::string_view help;       ///< one line
  /// A condition (attention/option_condition.h) without which it has no effect; empty: none. It
  /// speaks of modes, files and what is given or not, never of a number at the end of its range: a
  /// sweep over one runs to both ends.
  std::string_view only_with = "";
  std::string_view method_key = "";  ///< of kMethodOptions: the option that names the method

  bool takes_auto() const {
    return (kind == OptionKind::kInteger || kind == OptionKind::kReal) && fallback == "auto";
  }
};

/// Values of a method's options, checked against their kinds and ranges; defaults filled in.
class MethodOptions {
 public:
  int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  /// Of options whose default is "auto"; none where they have that value.
  std::optional<int64_t> optional_integer(std::string_view key) const;
  std::optional<double> optional_real(std::string_view key) const;
  bool flag(std::string_view key) const;
  const std::string& text(std::string_view key) const;

 private:
  friend class MethodSpec;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace longhaul
