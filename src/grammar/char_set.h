#pragma once
// Defines sets of Unicode characters, which occur in regular expressions and grammars.

#include <cstdint>
#include <string_view>
#include <vector>

namespace longhaul::grammar {

constexpr char32_t kLastCharacter = 0x10FFFF;

struct CharRange {
  char32_t low, high;  ///< both included
  bool operator==(const CharRange&) const = default;
};

/// A set of characters, stored as ranges in ascending order that neither overlap nor adjoin.
/// Surrogates (U+D800 to U+DFFF) are never members.
class CharSet {
 public:
  CharSet() = default;
  CharSet(std::initializer_list<CharRange> ranges);
  static CharSet any();

  void add(char32_t low, char32_t high);
  void add(char32_t c) { add(c, c); }
  void add(const CharSet& other);

  CharSet complement() const;
  CharSet without(const CharSet& other) const;
  CharSet intersection(const CharSet& other) const;

  bool contains(char32_t c) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<CharRange>& ranges() const { return ranges_; }

 private:
  void normalise();
  std::vector<CharRange> ranges_;
};

/// Returns the characters of a Unicode category such as "L", "Lu" or "Nd". Throws UserError if
/// there is no such category.
const CharSet& unicode_category(std::string_view name);

}  // namespace longhaul::grammar
