#pragma once
// Removes the headers, footers and page numbers from the pages of a PDF.

#include <vector>

#include "documents/page_lines.h"

namespace longhaul {

/// Removes lines at the upper and lower edge of the pages if most pages have the same line. Lines
/// that differ only in their digits are the same, so that page numbers are also removed.
void remove_page_furniture(std::vector<PdfPage>& pages);

}  // namespace longhaul
