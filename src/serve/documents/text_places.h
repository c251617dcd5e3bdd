#pragma once
// Places in a document's text: characters (Unicode code points) instead of bytes, and pages.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace longhaul::serve {

struct PagePlace {
  int64_t page = 0;
  size_t begin = 0;  ///< character of its line "[page N]"
};

class TextPlaces {
 public:
  /// `text` must be valid UTF-8. Lines "[page N]" begin pages.
  explicit TextPlaces(std::string_view text);

  size_t characters() const { return characters_; }
  /// The number of characters before a byte of the text.
  size_t character_of(std::string_view text, size_t byte) const;
  /// The first byte of a character; text.size() for the end and beyond.
  size_t byte_of(std::string_view text, size_t character) const;
  const std::vector<PagePlace>& pages() const { return pages_; }
  /// The page that contains a character; 0: there are no pages, or the first one begins later.
  int64_t page_of(size_t character) const;

 private:
  static constexpr size_t kStep = 1024;  // bytes between two entries of before_

  std::vector<size_t> before_;  ///< characters before byte i * kStep
  size_t characters_ = 0;
  std::vector<PagePlace> pages_;
};

}  // namespace longhaul::serve
