#pragma once
// Texts that the user hands over: files or standard input.

#include <cstddef>
#include <string>
#include <vector>

#include "documents/html_text.h"
#include "documents/page_ranges.h"
#include "documents/text_limit.h"

namespace longhaul {

struct Document {
  std::string name;               ///< the file's, or "standard input"
  std::string text;               ///< valid UTF-8
  std::string made;               ///< "PDF, 12 pages, by pdftotext"; empty for a plain text
  std::vector<Heading> headings;  ///< in the order of the text
  bool in_paragraphs = false;     ///< converted: its lines are no lines of the original
};

struct DocumentOptions {
  TextLimit limit = text_limit();
  size_t memory = 0;  ///< bytes that a converter may take besides this process; 0: what is free
  PageRanges pages;   ///< pages to read; throws for documents without pages
};

/// The text of `file`, "-" for standard input, without a byte-order mark. PDF, DOCX, ODT and EPUB
/// become text through other programs (documents/converters.h), HTML and RTF by own readers; other
/// encodings are decoded (documents/charsets.h). Throws UserError naming the file when it cannot be
/// read, when it or its text is longer than the limit, when it is of another format, or when the
/// program is missing. Warns about files that look like no text, about pages without text, and
/// about broken UTF-8, which U+FFFD replaces.
Document read_document(const std::string& file, const DocumentOptions& options = {});

/// All of them. One limit holds for all together.
std::vector<Document> read_documents(const std::vector<std::string>& files,
                                     const DocumentOptions& options);

/// Whether the text holds nothing but spaces, tabs and newlines.
bool is_blank(const std::string& text);

/// Warns about `count` broken UTF-8 sequences in `where`; says nothing for 0.
void warn_replaced(const std::string& where, size_t count);

/// Documents, then the question, with blank lines between them. Newlines at the end of a document
/// are dropped. Empty documents are left out.
std::string join_documents(const std::vector<std::string>& documents, const std::string& question);

/// The texts of the documents.
std::vector<std::string> texts_of(const std::vector<Document>& documents);

}  // namespace longhaul
