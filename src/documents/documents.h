#pragma once
// Texts given by the user: files or standard input.

#include <cstddef>
#include <string>
#include <vector>

#include "documents/text_limit.h"

namespace longhaul {

struct Document {
  std::string name;  ///< name of the file, or "standard input"
  std::string text;  ///< valid UTF-8
  std::string made;  ///< "PDF, 12 pages, by pdftotext"; empty for plain text
};

/// The text of `file`, "-" for standard input, without a byte-order mark. PDF, DOCX, ODT, EPUB, RTF
/// and HTML are converted by external programs (documents/converters.h), UTF-16 and Windows-1252 by
/// text/encodings.h. Throws UserError with the file's name if it cannot be read, it or its text is
/// longer than `limit`, it has another format, or the program is missing. Warns if it does not look
/// like text, and about broken UTF-8, which U+FFFD replaces in the result.
Document read_document(const std::string& file, const TextLimit& limit = text_limit());

/// Reads all of them, with one common limit.
std::vector<Document> read_documents(const std::vector<std::string>& files, const TextLimit& limit);

/// Whether it contains only spaces, tabs and newlines.
bool is_blank(const std::string& text);

/// One warning for `count` broken UTF-8 sequences in `where`; none for 0.
void warn_replaced(const std::string& where, size_t count);

/// Documents, then the question, separated by blank lines; newlines at the end of documents are
/// removed. Empty ones are skipped.
std::string join_documents(const std::vector<std::string>& documents, const std::string& question);

/// Texts of the documents.
std::vector<std::string> texts_of(const std::vector<Document>& documents);

}  // namespace longhaul
