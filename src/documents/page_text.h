#pragma once
// Converts the pages of a PDF to text. Lines are joined to paragraphs.

#include <cstdint>
#include <string>
#include <vector>

#include "documents/page_lines.h"
#include "documents/page_ranges.h"

namespace longhaul {

struct PageText {
  std::string text;              ///< each page with text begins with a line "[page N]"
  std::vector<int64_t> without;  ///< numbers of the selected pages without text
};

/// Returns the text of the selected pages. Lines of a paragraph are joined, also across columns and
/// pages. Words that a hyphen splits at the end of a line are joined, too. Lines of lists, tables
/// and headings are not joined, nor are lines that end far from the right edge. Headers, footers
/// and page numbers are left out (documents/page_furniture.h).
PageText text_of_pages(std::vector<PdfPage> pages, const PageRanges& chosen);

}  // namespace longhaul
