#pragma once
// Converts a PDF's pages to text by joining lines to paragraphs.

#include <cstdint>
#include <string>
#include <vector>

#include "documents/page_lines.h"
#include "documents/page_ranges.h"

namespace longhaul {

struct PageText {
  std::string text;              ///< each page with text begins with a line "[page N]"
  std::vector<int64_t> without;  ///< numbers of the chosen pages without text
};

/// Joins the lines of paragraphs, also across columns and pages, and the parts of words that a
/// hyphen splits at the end of a line. Lists, tables, headings and lines that end early keep their
/// line ends. Headers, footers and page numbers of most pages are left out.
PageText text_of_pages(std::vector<PdfPage> pages, const PageRanges& chosen);

}  // namespace longhaul
