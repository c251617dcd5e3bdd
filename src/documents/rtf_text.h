#pragma once
// Extracts the text of RTF files.

#include <string_view>

#include "documents/html_text.h"

namespace longhaul {

/// Returns the text of an RTF file: paragraphs, rows of tables (with " | " between cells) and
/// footnotes. Letters are decoded by the code pages that the file and its fonts name. Paragraphs
/// with an outline level are headings. Any bytes are accepted, even if they are not valid RTF.
/// Memory and time are proportional to their number.
HeadedText text_of_rtf(std::string_view bytes);

}  // namespace longhaul
