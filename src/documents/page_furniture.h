#pragma once
// Headers, footers and page numbers at the edges of most pages.

#include <vector>

#include "documents/page_lines.h"

namespace longhaul {

/// Removes from every page the lines at its upper and lower edge that repeat on most pages,
/// including page numbers. Lines that differ only in their digits count as equal.
void remove_page_furniture(std::vector<PdfPage>& pages);

}  // namespace longhaul
