#pragma once
// Documents that are no text: PDF through pdftotext, DOCX, ODT, EPUB, RTF and HTML through pandoc,
// where they are installed.

#include <string>
#include <string_view>

#include "cli/text_limit.h"

namespace longhaul {

struct DocumentFormat {
  std::string_view name;     ///< "PDF"
  std::string_view program;  ///< "pdftotext"
  std::string_view package;  ///< Debian's
  std::string_view from;     ///< pandoc's name for it
};

/// Of a document that becomes text so, by its first bytes (of a ZIP file by the names in it); null
/// for any other.
const DocumentFormat* format_of(std::string_view bytes);

/// Its text; `made` becomes "PDF, 12 pages, by pdftotext". Pages begin with a line "[page 12]".
/// Throws UserError naming the document where the program is missing (with the package that has
/// it), fails, takes longer than LONGHAUL_CONVERT_SECONDS (300), makes more text than `limit` or
/// finds none. HTML without pandoc stays as it is, with a warning.
std::string convert_document(const DocumentFormat& format, const std::string& name,
                             std::string_view bytes, const TextLimit& limit, std::string& made);

}  // namespace longhaul
