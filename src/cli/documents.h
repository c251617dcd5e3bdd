#pragma once
// Texts that the user hands over: files or standard input.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/text_limit.h"

namespace longhaul {

struct Document {
  std::string name;  ///< the file's, or "standard input"
  std::string text;  ///< valid UTF-8
  std::string made;  ///< "PDF, 12 pages, by pdftotext"; empty for a text that was one already
};

/// The text of `file`, "-" for standard input, without a byte-order mark. PDF, DOCX, ODT, EPUB, RTF
/// and HTML become text through the program that makes it (cli/converters.h), UTF-16 and
/// Windows-1252 as text/encodings.h reads them. Throws UserError naming the file when it cannot be
/// read, it or its text is longer than `limit`, it is of another format, or the program is missing;
/// warns when it looks like no text at all, and of broken UTF-8, for which U+FFFD stands in the
/// result.
Document read_document(const std::string& file, const TextLimit& limit = text_limit());

/// All of them, with one limit for all together.
std::vector<Document> read_documents(const std::vector<std::string>& files, const TextLimit& limit);

/// Whether nothing but spaces, tabs and newlines stands in it.
bool is_blank(const std::string& text);

/// One warning for `count` broken UTF-8 sequences of `where`, none for 0.
void warn_replaced(const std::string& where, size_t count);

/// Documents, then the question, with blank lines between them; documents lose the newlines at
/// their end. Empty ones are left out.
std::string join_documents(const std::vector<std::string>& documents, const std::string& question);

/// Their texts.
std::vector<std::string> texts_of(const std::vector<Document>& documents);

}  // namespace longhaul
