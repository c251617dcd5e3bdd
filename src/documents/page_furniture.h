#pragma once
// Removes headers, footers and page numbers from the pages of a PDF.

#include <vector>

#include "documents/page_lines.h"

namespace longhaul {

/// Removes the lines at the upper and lower edge of every page that repeat on most pages, including
/// page numbers. Lines that differ only in their digits count as equal.
void remove_page_furniture(std::vector<PdfPage>& pages);

}  // namespace longhaul
