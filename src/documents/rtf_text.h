#pragma once
// Extracts the text of RTF files.

#include <string_view>

#include "documents/html_text.h"

namespace longhaul {

/// Returns the paragraphs, the rows of tables (with " | " between cells) and the footnotes of an
/// RTF file. Letters are decoded by the code pages of the file and of its fonts. Paragraphs with an
/// outline level are headings. Any input is accepted, and memory and time are linear in its length.
HeadedText text_of_rtf(std::string_view bytes);

}  // namespace longhaul
