#pragma once
// Converts documents that are not plain text. If they are installed, pdftotext converts PDF, and
// pandoc converts DOCX, ODT and EPUB. Longhaul itself reads HTML and RTF.

#include <string>
#include <string_view>

#include "documents/documents.h"

namespace longhaul {

struct DocumentFormat {
  std::string_view name;     ///< such as "PDF"
  std::string_view program;  ///< such as "pdftotext"; empty: no program is needed
  std::string_view package;  ///< Debian package that contains the program
  std::string_view from;     ///< pandoc's name for the format
};

/// Returns the format of a document, or null for other files. It is determined by the first bytes,
/// for a ZIP file by the names in it, and for fragments of HTML by the ending of the name.
const DocumentFormat* format_of(std::string_view bytes, std::string_view name);

/// Returns the time limit in seconds for the conversion of a document: LONGHAUL_CONVERT_SECONDS, or
/// 300. Throws UserError if the variable is not a number of seconds.
double conversion_seconds();

/// Returns whether the format is HTML, whose bytes may be in any encoding.
bool is_html_format(const DocumentFormat& format);

/// Converts a document. Sets the text, the headings and `made` of `document`. Each page of a PDF
/// begins with a line such as "[page 12]". HTML must be UTF-8. Warns about pages without text.
/// Throws UserError that names the document if the program is missing (with the package that
/// contains it), fails, runs longer than LONGHAUL_CONVERT_SECONDS (300), needs more memory than
/// options.memory, or writes no text or more text than options.limit. Also throws if the document
/// needs a password.
void convert_document(const DocumentFormat& format, std::string_view bytes,
                      const DocumentOptions& options, Document& document);

}  // namespace longhaul
