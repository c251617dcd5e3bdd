#pragma once
// Extracts the text of HTML pages.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// A heading of a document.
struct Heading {
  size_t offset = 0;  ///< offset of the heading's first byte in the document's text
  std::string text;
};

struct HeadedText {
  std::string text;
  std::vector<Heading> headings;  ///< in the order of the text
};

/// Returns the text of an HTML page. Paragraphs are separated by blank lines. Each item of a list
/// is a line. Each row of a table is a line with " | " between its cells. Scripts, styles and
/// hidden elements are left out. Any text is accepted, even if it is not valid HTML. Memory and
/// time are proportional to its length. `html` must be UTF-8.
HeadedText text_of_html(std::string_view html);

}  // namespace longhaul
