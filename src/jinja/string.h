#pragma once
// A string that records which of its parts come from the template and which from the template's
// arguments. Only parts from the template can become control tokens. Comparison uses only the
// bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "jinja/held_memory.h"

namespace longhaul::jinja {

enum class Origin : uint8_t {
  kTemplate,  ///< literals and text of the template, numbers, names of roles, tokens of the model
  kGiven,     ///< messages, tools and documents, and all strings derived from them
};

class String {
 public:
  /// A run of bytes with the same origin. It extends from the end of the previous run to `end`.
  /// Neighbouring runs have different origins.
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
  /// Returns the number of bytes that a copy must move, including its runs.
  size_t weight() const { return bytes_.size() + sizeof(Run) * runs_.size(); }

  /// Returns whether the text is HTML markup, as the filters `safe` and `escape` return it. Text
  /// that is added to markup with + is escaped.
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

/// Returns the number of bytes of the character at `at`, which must be less than text.size().
/// Invalid UTF-8 also counts as characters.
size_t character_bytes(std::string_view text, size_t at);
size_t count_characters(std::string_view text);

/// The byte offset of each character of a text. Nothing is stored for ASCII text, because each
/// offset equals the index.
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
/// The range [begin, end) of the bytes of `text` that remain after str.lstrip() and str.rstrip().
struct ByteRange {
  size_t begin, end;
};
ByteRange without_space(std::string_view text, bool at_front, bool at_back);

}  // namespace longhaul::jinja
