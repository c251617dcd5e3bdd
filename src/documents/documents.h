#pragma once
// Reads texts from the user, which are files or standard input.

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
  std::string
      made;  ///< origin of the text, such as "PDF, 12 pages, by pdftotext"; empty for plain text
  std::vector<Heading> headings;  ///< headings in the order of the text
  /// Whether the text was converted, so that its lines are not those of the original.
  bool in_paragraphs = false;
};

/// Thrown if a document yields no text for the model. The exception contains the reason.
class DocumentError : public UserError {
 public:
  enum class Problem : uint8_t {
    kUnsupported,  ///< a format that is not read
    kNoText,       ///< the document can be read, but contains no text
    kEncrypted,    ///< it needs a password
    kTooLong,      ///< its text exceeds a limit
    kTooSlow,      ///< its conversion exceeds the limit of time
    kTooLarge,     ///< its conversion exceeds the limit of memory
    kUnreadable    ///< any other reason: damaged, or the program is missing
  };
  DocumentError(Problem of, const std::string& message) : UserError(message), problem(of) {}

  Problem problem;
};

struct DocumentOptions {
  TextLimit limit = text_limit();
  size_t memory = 0;  ///< bytes that a converter may use in addition to this process; 0: the free
                      ///< memory
  PageRanges pages;   ///< pages to read; must be empty for documents without pages
};

/// Reads the text of `file`, without a byte-order mark. "-" means standard input. Other programs
/// convert PDF, DOCX, ODT and EPUB (documents/converters.h). Longhaul itself reads HTML and RTF,
/// and decodes other encodings (documents/charsets.h). Throws UserError that names the file if it
/// cannot be read, if the file or its text exceeds the limit, if it has another format, or if a
/// program is missing. Warns about files that do not look like text, about pages without text, and
/// about invalid UTF-8, which becomes U+FFFD.
Document read_document(const std::string& file, const DocumentOptions& options = {});

/// Reads a document whose bytes are in memory. `name` is used in messages and to recognise
/// fragments of HTML.
Document document_of(std::string bytes, const std::string& name, const DocumentOptions& options);

/// Returns the names of the supported formats: "plain text", "PDF" and so on.
std::vector<std::string> document_formats();

/// Reads all documents. The limit applies to all of them together.
std::vector<Document> read_documents(const std::vector<std::string>& files,
                                     const DocumentOptions& options);

/// Returns whether the text contains only spaces, tabs and newlines.
bool is_blank(const std::string& text);

/// Warns about `count` invalid UTF-8 sequences in `where`. Does nothing if count is 0.
void warn_replaced(const std::string& where, size_t count);

/// Joins the documents and the question to one text, with blank lines between them. Newlines at the
/// end of a document are removed, and empty documents are omitted.
std::string join_documents(const std::vector<std::string>& documents, const std::string& question);

/// Returns the texts of the documents.
std::vector<std::string> texts_of(const std::vector<Document>& documents);

}  // namespace longhaul
