#pragma once
// Texts from the user: files or standard input.

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
  std::string text;  ///< valid UTF-8
  std::string
      made;  ///< origin of the text, such as "PDF, 12 pages, by pdftotext"; empty for a plain text
  std::vector<Heading> headings;  ///< headings in the order of the text
  bool in_paragraphs = false;     ///< converted: its lines differ from those of the original
};

/// The reason why a document has no text for the model.
class DocumentError : public UserError {
 public:
  enum class Problem : uint8_t {
    kUnsupported,  ///< a format that is not read
    kNoText,       ///< the document can be read, but contains no text
    kUnreadable    ///< all others: damaged, encrypted, too large, or the program is missing
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

/// The text of `file`, "-" for standard input, without a byte-order mark. Other programs convert
/// PDF, DOCX, ODT and EPUB (documents/converters.h). HTML and RTF have readers in Longhaul, and
/// other encodings are decoded (documents/charsets.h). Throws UserError naming the file if it
/// cannot be read, if it or its text is longer than the limit, if it has another format, or if the
/// program is missing. Warns about files that do not look like text, about pages without text, and
/// about broken UTF-8, which is replaced by U+FFFD.
Document read_document(const std::string& file, const DocumentOptions& options = {});

/// Reads a document whose bytes are in memory. `name` is for messages and for fragments of HTML.
Document document_of(std::string bytes, const std::string& name, const DocumentOptions& options);

/// Names of the formats that are read, in the order "plain text", "PDF", ...
std::vector<std::string> document_formats();

/// Reads all documents. One limit applies to all together.
std::vector<Document> read_documents(const std::vector<std::string>& files,
                                     const DocumentOptions& options);

/// Returns whether the text contains only spaces, tabs and newlines.
bool is_blank(const std::string& text);

/// Warns about `count` broken UTF-8 sequences in `where`, unless it is 0.
void warn_replaced(const std::string& where, size_t count);

/// Joins the documents and the question to one text, with blank lines between them. Newlines at the
/// end of a document are removed. Empty documents are left out.
std::string join_documents(const std::vector<std::string>& documents, const std::string& question);

/// Returns the texts of the documents.
std::vector<std::string> texts_of(const std::vector<Document>& documents);

}  // namespace longhaul
