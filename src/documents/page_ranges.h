#pragma once
// PageRanges is a set of page numbers, which users write as the value of --pages.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

class PageRanges {
 public:
  PageRanges() = default;  ///< selects all pages
  /// Parses "5-10", "7", "-3" (up to 3), "12-" (from 12 on), or several of these, separated by
  /// commas. Throws UserError if the text has another form.
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

/// Returns a text such as "page 7" or "pages 1, 3 and 5-9". `pages` must be ascending.
std::string pages_in_words(const std::vector<int64_t>& pages);

/// Returns the selected pages of a text in which each page begins with a line "[page N]". Throws a
/// UserError that names `name`, the document, if the text has no such lines or none of the selected
/// pages.
std::string select_pages(const std::string& text, const PageRanges& chosen,
                         const std::string& name);

}  // namespace longhaul
