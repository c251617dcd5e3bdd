#pragma once
// Texts that the user hands over: files or standard input.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/text_limit.h"

namespace longhaul {

/// The text of `file`, "-" for standard input, without a byte-order mark. Throws UserError naming
/// the file when it cannot be read, is longer than `limit` or is of another format (a PDF, UTF-16,
/// ...); warns when it is empty or looks like no text at all, and of broken UTF-8, for which U+FFFD
/// stands in the result.
std::string read_document(const std::string& file, const TextLimit& limit = text_limit());

/// One warning for `count` broken UTF-8 sequences of `where`, none for 0.
void warn_replaced(const std::string& where, size_t count);

/// Documents, then the question, with blank lines between them; documents lose the newlines at
/// their end. Empty ones are left out.
std::string join_documents(const std::vector<std::string>& documents, const std::string& question);

}  // namespace longhaul
