#pragma once
// A text that remembers which of its parts the template wrote and which were given to it, so that
// only the template's own can become control tokens. Comparison looks at the bytes alone.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::jinja {

enum class Origin : uint8_t {
  kTemplate,  ///< literals and text of the template, numbers, names of roles, tokens of the model
  kGiven,     ///< messages, tools and documents, and whatever was made from them
};

class String {
 public:
  /// Bytes from the run before up to `end` have one origin. Neighbours have different ones.
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

  /// Markup of HTML, as the filters `safe` and `escape` make it: what + joins to it is escaped.
  bool markup() const { return markup_; }
  void set_markup() { markup_ = true; }

  void append(std::string_view bytes, Origin origin);
  void append(const String& other) { append(other, 0, other.size()); }
  /// Bytes [begin, end) of `other`, which is another string.
  void append(const String& other, size_t begin, size_t end);

  /// Bytes [begin, end).
  String slice(size_t begin, size_t end) const;
  Origin origin_at(size_t byte) const;  ///< `byte` < size()

 private:
  std::string bytes_;
  std::vector<Run> runs_;  // ascending; the last ends with the bytes
  bool markup_ = false;
};

/// Markup: & < > ' and " as HTML's entities, or what is markup as it is.
String escaped(const String& text);

/// Bytes of the character at `at` < text.size(); broken UTF-8 counts as characters, too.
size_t character_bytes(std::string_view text, size_t at);
size_t count_characters(std::string_view text);

/// The byte at which each character begins. Nothing is stored for ASCII text, where the byte is the
/// character's number.
class CharacterOffsets {
 public:
  explicit CharacterOffsets(std::string_view text);
  size_t count() const { return count_; }
  size_t byte_of(size_t character) const {  ///< `character` <= count()
    return offsets_.empty() ? character : offsets_[character];
  }

 private:
  size_t count_;
  std::vector<size_t> offsets_;  // none for ASCII; else one more than there are characters
};

/// What Python's str.isspace() is true of: Unicode's White_Space and U+001C to U+001F.
bool is_python_space(uint32_t code_point);
/// The bytes of `text` that str.lstrip() and str.rstrip() leave: [begin, end).
struct ByteRange {
  size_t begin, end;
};
ByteRange without_space(std::string_view text, bool at_front, bool at_back);

}  // namespace longhaul::jinja
