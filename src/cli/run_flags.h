#pragma once
// Flags of `longhaul run`, and its texts.

#include <string>
#include <vector>

#include "cli/constraint_flags.h"
#include "cli/model_flags.h"
#include "cli/prompt_flags.h"
#include "cli/sampling_flags.h"
#include "cli/sandbox_flags.h"
#include "cli/session_flags.h"
#include "documents/documents.h"

namespace longhaul {

struct RunFlags {
  ModelFlags model;
  SessionFlags session;
  PromptFlags prompt;
  SamplingFlags sampling;
  ConstraintFlags constraint;
  SandboxFlags sandbox;
  bool interactive = false;
  bool json = false;
  bool quiet = false;
  std::string save, load;
  std::string questions;  ///< a file with one question per line, "-": standard input
  int sources = 0;        ///< passages to show after the reply

  void add_to(CLI::App& app);
  /// Resolves words without a flag, the source of texts, and whether this is a chat; throws
  /// UserError for contradictions.
  void settle();
  std::vector<Document> read_texts(const TextLimit& limit, size_t memory) const;
  /// Whether texts are only read and saved, for later questions.
  bool only_reads() const {
    return !save.empty() && sampling.max_tokens == 0 && prompt.question.empty();
  }
  /// Whether the user named a method with --attention.
  bool names_attention() const;
  /// --load without a text refers to the one in the file.
  bool asks_loaded() const { return !load.empty() && prompt.files.empty(); }

 private:
  void take_words();
  void take_default_model();
  void take_input();
  void check() const;
  void check_questions() const;

  const CLI::App* app_ = nullptr;
  std::vector<std::string> words_;  ///< MODEL QUESTION...
};

}  // namespace longhaul
