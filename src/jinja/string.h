#pragma once
// A String records which of its bytes come from the template and which from the template's
// arguments. Only bytes from the template can become control tokens. Two strings are equal if their
// bytes are equal, whatever their origins are.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "jinja/held_memory.h"

namespace longhaul::jinja {

enum class Origin : uint8_t {
  /// Literals and text of the template, numbers, names of roles, texts of the model's special
  /// tokens.
  kTemplate,
  kGiven,  ///< bytes of messages, tools and documents, and of strings derived from them
};

class String {
 public:
  /// A run is a range of bytes with the same origin. It extends from the end of the previous run to
  /// `end`. Neighbouring runs have different origins.
  struct Run {
    size_t end;
    Origin origin;
  };

  String() = default;
  String(std::string_view bytes, Origin origin) { append(bytes, origin); }

  std::string_view bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  std::span<const Run> runs() const { return runs_; }
  /// Returns the cost of a copy: the number of its bytes, including those of the runs.
  size_t weight() const { return bytes_.size() + sizeof(Run) * runs_.size(); }

  /// Returns whether the string is HTML markup, such as the result of the filters `safe` and
  /// `escape`. If a template adds a string to markup with +, the string is escaped.
  bool markup() const { return markup_; }
  void set_markup() { markup_ = true; }

  void append(std::string_view bytes, Origin origin);
  void append(const String& other) { append(other, 0, other.size()); }
  /// Appends bytes [begin, end) of `other`, which must be a different object.
  void append(const String& other, size_t begin, size_t end);

  /// Returns bytes [begin, end).
  String slice(size_t begin, size_t end) const;
  Origin origin_at(size_t byte) const;  ///< requires byte < size()

 private:
  Text bytes_;
  Vector<Run> runs_;  // ascending; the last one ends at the end of the bytes
  bool markup_ = false;
};

/// Returns the text as markup: & < > ' and " become HTML entities. Markup is returned unchanged.
String escaped(const String& text);

/// Returns the number of bytes of the character that begins at byte `at`, which must be less than
/// text.size(). An invalid UTF-8 sequence counts as one character.
size_t character_bytes(std::string_view text, size_t at);
size_t count_characters(std::string_view text);

/// Stores the byte offset of each character of a text. For ASCII text nothing is stored, because
/// the offset of a character equals its index.
class CharacterOffsets {
 public:
  explicit CharacterOffsets(std::string_view text);
  size_t count() const { return count_; }
  size_t byte_of(size_t character) const {  ///< `character` must be at most count()
    return offsets_.empty() ? character : offsets_[character];
  }

 private:
  size_t count_;
  Vector<size_t> offsets_;  // empty for ASCII; otherwise one more than there are characters
};

/// Returns whether Python's str.isspace() is true for the character: Unicode's White_Space and
/// U+001C to U+001F.
bool is_python_space(uint32_t code_point);
/// A range of bytes [begin, end) of a text.
struct ByteRange {
  size_t begin, end;
};
ByteRange without_space(std::string_view text, bool at_front, bool at_back);

}  // namespace longhaul::jinja
