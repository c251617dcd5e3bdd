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

/// Returns the text of an HTML page. Paragraphs are separated by blank lines. Items of lists and
/// rows of tables are lines, with " | " between cells. Scripts, styles and hidden elements are
/// omitted, and entities are decoded. Any input is accepted, and memory and time are linear in its
/// length. `html` is UTF-8.
HeadedText text_of_html(std::string_view html);

}  // namespace longhaul
