#pragma once
// Conversion of document formats to text: PDF by pdftotext, and DOCX, ODT, EPUB, RTF and HTML by
// pandoc, if these are installed.

#include <string>
#include <string_view>

#include "documents/text_limit.h"

namespace longhaul {

struct DocumentFormat {
  std::string_view name;     ///< "PDF"
  std::string_view program;  ///< "pdftotext"
  std::string_view package;  ///< Debian's package
  std::string_view from;     ///< pandoc's name of the format
};

/// The format of a convertible document, detected by its first bytes (in a ZIP file by its names);
/// null for any other.
const DocumentFormat* format_of(std::string_view bytes);

/// Converts a document to text; `made` becomes "PDF, 12 pages, by pdftotext". Pages begin with a
/// line "[page 12]". Throws UserError with the document's name if the program is missing (with its
/// package), fails, takes longer than LONGHAUL_CONVERT_SECONDS (300), produces more text than
/// `limit` or none. HTML is left as it is, with a warning, if pandoc is missing.
std::string convert_document(const DocumentFormat& format, const std::string& name,
                             std::string_view bytes, const TextLimit& limit, std::string& made);

}  // namespace longhaul
