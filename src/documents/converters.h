#pragma once
// Converts documents that are not plain text. The program pdftotext converts PDF, and pandoc
// converts DOCX, ODT and EPUB, if these programs are installed. Longhaul itself converts HTML and
// RTF.

#include <string>
#include <string_view>

#include "documents/documents.h"

namespace longhaul {

struct DocumentFormat {
  std::string_view name;  ///< such as "PDF"
  /// Program that converts the format, such as "pdftotext"; empty: Longhaul itself.
  std::string_view program;
  std::string_view package;  ///< Debian package that contains the program
  std::string_view from;     ///< pandoc's name for the format
};

/// Returns the format of a document, or null if it is plain text or unknown. The format is
/// determined from the first bytes. For ZIP files it is determined from the names of the files in
/// them. For an incomplete HTML page it is determined from the ending of `name`.
const DocumentFormat* format_of(std::string_view bytes, std::string_view name);

/// Returns the time limit for the conversion of a document in seconds. It is the value of the
/// environment variable LONGHAUL_CONVERT_SECONDS, or 300. Throws UserError if the variable is not a
/// number of seconds.
double conversion_seconds();

/// Returns whether the format is HTML. HTML must be converted to UTF-8 before convert_document().
bool is_html_format(const DocumentFormat& format);

/// Converts a document. Sets the text, the headings and the member `made` of `document`. Each page
/// of a PDF begins with a line such as "[page 12]". HTML must be UTF-8. Warns about pages without
/// text. Throws a UserError that names the document if the program is missing or fails, if the
/// document needs a password, if the conversion takes longer than conversion_seconds() or needs
/// more memory than options.memory, or if the text is empty or larger than options.limit.
void convert_document(const DocumentFormat& format, std::string_view bytes,
                      const DocumentOptions& options, Document& document);

}  // namespace longhaul
