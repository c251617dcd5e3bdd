#pragma once
// Headers, footers and page numbers, which stand at the edges of most pages.

#include <vector>

#include "documents/page_lines.h"

namespace longhaul {

/// Removes from every page the lines at its upper and lower edge that repeat on most pages, page
/// numbers that count them included. Lines that differ in their digits alone repeat.
void remove_page_furniture(std::vector<PdfPage>& pages);

}  // namespace longhaul
