#pragma once
// Recognises documents that are given where a model or a command is expected.

#include <string>

namespace longhaul {

/// Returns whether `word` is an existing file that `run -f` reads, and not a model.
bool is_document_file(const std::string& word);

/// Returns the advice for such a file, such as "'longhaul run -f lease.pdf -p QUESTION' asks about
/// it".
std::string document_advice(const std::string& word);

}  // namespace longhaul
