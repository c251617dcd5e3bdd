#pragma once
// Reads documents, which are files of the user or standard input, and converts them to text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/user_error.h"
#include "documents/html_text.h"
#include "documents/page_ranges.h"
#include "documents/text_limit.h"

namespace longhaul {

struct Document {
  std::string name;  ///< the file's name, or "standard input"
  std::string text;  ///< text of the document, in valid UTF-8
  /// Description of the conversion, such as "PDF, 12 pages, by pdftotext". Empty for plain text.
  std::string made;
  std::vector<Heading> headings;  ///< headings in the order of the text
  /// Whether the text was converted to paragraphs, so that its lines are not those of the original.
  bool in_paragraphs = false;
};

/// Thrown if the text of a document cannot be obtained. The exception contains the reason.
class DocumentError : public UserError {
 public:
  enum class Problem : uint8_t {
    kUnsupported,  ///< the format is not supported
    kNoText,       ///< the document can be read, but contains no text
    kEncrypted,    ///< it needs a password
    kTooLong,      ///< its text exceeds a limit
    kTooSlow,      ///< its conversion exceeds the limit of time
    kTooLarge,     ///< its conversion exceeds the limit of memory
    kUnreadable    ///< any other reason, such as a damaged document or a missing program
  };
  DocumentError(Problem of, const std::string& message) : UserError(message), problem(of) {}

  Problem problem;
};

struct DocumentOptions {
  TextLimit limit = text_limit();
  size_t memory = 0;  ///< bytes of memory that a conversion may use; 0: the free memory
  PageRanges pages;   ///< pages to read; must be empty for documents without pages
};

/// Reads the text of `file`, without a byte-order mark. "-" means standard input. Other programs
/// convert PDF, DOCX, ODT and EPUB (documents/converters.h). Longhaul itself reads HTML and RTF,
/// and decodes other encodings (documents/charsets.h). Throws a UserError that names the file if it
/// cannot be read, if the file or its text exceeds the limit, if its format is not supported, or if
/// the converting program is missing. Warns about files that seem not to be text, about pages
/// without text, and about invalid UTF-8, which becomes U+FFFD.
Document read_document(const std::string& file, const DocumentOptions& options = {});

/// Does the same for a document whose bytes are in memory. `name` is used in error messages, and to
/// recognise incomplete HTML pages by its ending.
Document document_of(std::string bytes, const std::string& name, const DocumentOptions& options);

/// Returns the names of the supported formats, such as "plain text" and "PDF".
std::vector<std::string> document_formats();

/// Reads several documents. options.limit applies to the total size of their texts.
std::vector<Document> read_documents(const std::vector<std::string>& files,
                                     const DocumentOptions& options);

/// Returns whether the text contains only spaces, tabs and newlines.
bool is_blank(const std::string& text);

/// Warns that `where` contained `count` invalid UTF-8 sequences. Does nothing if `count` is 0.
void warn_replaced(const std::string& where, size_t count);

/// Joins the documents and the question to one text, with blank lines between them. Newlines at the
/// end of a document are removed, and empty documents are omitted.
std::string join_documents(const std::vector<std::string>& documents, const std::string& question);

/// Returns the texts of the documents.
std::vector<std::string> texts_of(const std::vector<Document>& documents);

}  // namespace longhaul
