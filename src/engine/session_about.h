#pragma once
// The facts that a session file of `longhaul run` states about its contents (version 11, see
// sequence_file.cc): the model's name, the texts, and whether all of the texts were prefilled.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "documents/documents.h"
#include "engine/session.h"

namespace longhaul {

/// A text of the prompt, in the order of the prompt.
struct SavedText {
  std::string name;
  size_t bytes = 0;  ///< bytes of the text in the prompt (documents/documents.h, join_documents)
  bool in_paragraphs = false;
  std::vector<Heading> headings;
};

struct SessionAbout {
  std::string model;  ///< name by which the user chose the model; empty: unknown
  std::string reads;  ///< the flags that name the texts, such as "-f a.pdf --pages 1-20"
  /// Number of tokens that were prefilled, and of those that were to be. `held` is smaller if the
  /// user stopped the prefill. Both are 0 if all of the text was prefilled.
  int64_t held = 0, whole = 0;
  std::vector<SavedText> texts;

  bool incomplete() const { return held < whole; }
};

/// Returns the facts in a session file, without checking the file's checksum. The result is empty
/// for a file of another version. Throws UserError that names the file if the facts are damaged.
SessionAbout read_about(const std::filesystem::path& file);

/// Writes a session file with these facts.
void save_with_about(const Sequence& sequence, const std::filesystem::path& file,
                     const SessionAbout& about);

/// Returns the facts about texts that become part of a prompt. Empty texts are left out.
std::vector<SavedText> saved_texts(const std::vector<Document>& documents);

/// Divides the text of a session file into the documents of which it consists. The result is one
/// document named `otherwise` if the facts do not fit the text.
std::vector<Document> split_loaded_text(const std::string& text, const SessionAbout& about,
                                        const std::string& otherwise);

}  // namespace longhaul
