#pragma once
// Defines a compiled regular expression for UTF-8 text. The library PCRE2 compiles and executes it.
// It supports Unicode properties, and uses the Unicode tables of PCRE2. It uses PCRE2's
// just-in-time compiler if the system permits it.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

struct RegexMatch {
  size_t begin, end;
};

class Regex {
 public:
  /// `where` names the file or key from which the pattern comes, for error messages. Throws
  /// UserError if the pattern is malformed.
  Regex(std::string_view pattern, std::string where);

  /// Returns the first match at or after `from` in `text`, which must be valid UTF-8. The match may
  /// be empty. Throws UserError if the search exceeds its limit of steps or of memory (256 MiB).
  /// Also throws UserError if the match begins before `from` or ends before it begins, which some
  /// patterns can cause.
  std::optional<RegexMatch> find(std::string_view text, size_t from) const;

  const std::string& pattern() const { return pattern_; }

 private:
  std::string pattern_, where_;
  std::shared_ptr<const void> code_;
  bool jit_ = false;
};

/// Returns a pattern that matches exactly this text.
std::string regex_literal(std::string_view text);

}  // namespace longhaul
