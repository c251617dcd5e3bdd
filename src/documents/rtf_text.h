#pragma once
// The text of RTF files.

#include <string_view>

#include "documents/html_text.h"

namespace longhaul {

/// Paragraphs, rows of tables with " | " between cells, and footnotes. Letters follow the code
/// pages of the file and of its fonts. Paragraphs with an outline level are headings. Accepts any
/// input; memory and time are linear in its length.
HeadedText text_of_rtf(std::string_view bytes);

}  // namespace longhaul
