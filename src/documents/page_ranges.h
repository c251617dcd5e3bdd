#pragma once
// Page numbers in the form of --pages.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class PageRanges {
 public:
  PageRanges() = default;  ///< all pages
  /// "5-10", "7", "-3", "12-" or several of them, separated by commas. Throws UserError.
  static PageRanges parse(std::string_view text);

  bool all() const { return ranges_.empty(); }
  bool contains(int64_t page) const;
  const std::string& text() const { return text_; }

 private:
  struct Range {
    int64_t first = 1, last = 0;
  };
  std::vector<Range> ranges_;
  std::string text_;
};

/// "page 7", "pages 1, 3 and 5-9". `pages` ascend.
std::string pages_in_words(const std::vector<int64_t>& pages);

/// The selected pages of a text in which each page begins with a line "[page N]". Throws UserError
/// naming `name` if the text has no such lines or none of the selected pages.
std::string select_pages(const std::string& text, const PageRanges& chosen,
                         const std::string& name);

}  // namespace longhaul
