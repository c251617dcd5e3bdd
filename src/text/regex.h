#pragma once
// A compiled regular expression over UTF-8 text (PCRE2, with Unicode properties, and JIT if the
// system permits it). The Unicode tables are those of the PCRE2 library.

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
  /// `where` names the file or key in messages. Throws UserError if the pattern is malformed.
  Regex(std::string_view pattern, std::string where);

  /// Returns the first match at or after `from` in `text`, which must be valid UTF-8. The match may
  /// be empty. Throws UserError if the pattern needs more than a limited number of steps or amount
  /// of memory (256 MiB), or if the match begins before `from` or ends before it begins.
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
