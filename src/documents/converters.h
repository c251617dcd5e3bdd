#pragma once
// Documents that are not plain text. pdftotext converts PDF; pandoc converts DOCX, ODT and EPUB, if
// they are installed. HTML and RTF have readers in Longhaul.

#include <string>
#include <string_view>

#include "documents/documents.h"

namespace longhaul {

struct DocumentFormat {
  std::string_view name;     ///< "PDF"
  std::string_view program;  ///< "pdftotext"; empty: no program is needed
  std::string_view package;  ///< Debian's
  std::string_view from;     ///< pandoc's name for the format
};

/// The format of a document, by its first bytes (for a ZIP file, by the names in it) and for
/// fragments of HTML by the ending of its name; null for other files.
const DocumentFormat* format_of(std::string_view bytes, std::string_view name);

/// Most seconds for the conversion of a document: LONGHAUL_CONVERT_SECONDS, or 300. Throws
/// UserError if the variable is no number of seconds.
double conversion_seconds();

/// Returns whether the format is HTML, whose bytes may be in any encoding.
bool is_html_format(const DocumentFormat& format);

/// Sets the text of `document`, its headings and `made`. Pages of a PDF begin with a line "[page
/// 12]". HTML must be UTF-8. Throws UserError naming the document if the program is missing (with
/// the package that has it), fails, runs longer than LONGHAUL_CONVERT_SECONDS (300), needs more
/// memory than options.memory, writes more text than options.limit or none; also if the document
/// needs a password. Warns about pages without text.
void convert_document(const DocumentFormat& format, std::string_view bytes,
                      const DocumentOptions& options, Document& document);

}  // namespace longhaul
