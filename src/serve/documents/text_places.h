#pragma once
// Converts between three kinds of positions in a document's text: byte offsets, character indices
// (a character is a Unicode code point), and page numbers.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace longhaul::serve {

struct PagePlace {
  int64_t page = 0;
  size_t begin = 0;  ///< character index of the page's line "[page N]"
};

class TextPlaces {
 public:
  /// `text` must be valid UTF-8. A line "[page N]" begins a page.
  explicit TextPlaces(std::string_view text);

  size_t characters() const { return characters_; }
  /// Returns the number of characters before byte `byte` of the text.
  size_t character_of(std::string_view text, size_t byte) const;
  /// Returns the index of the first byte of a character. At and beyond the end, the result is
  /// text.size().
  size_t byte_of(std::string_view text, size_t character) const;
  const std::vector<PagePlace>& pages() const { return pages_; }
  /// Returns the number of the page that contains a character. The result is 0 if there are no
  /// pages, or if the character is before the first page.
  int64_t page_of(size_t character) const;

 private:
  static constexpr size_t kStep = 1024;  // bytes between two entries of before_

  std::vector<size_t> before_;  ///< number of characters before byte i * kStep
  size_t characters_ = 0;
  std::vector<PagePlace> pages_;
};

}  // namespace longhaul::serve
