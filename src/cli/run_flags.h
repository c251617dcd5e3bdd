#pragma once
// Defines the flags of `longhaul run`.

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
  std::string questions;  ///< a file with one question per line; "-" means standard input
  int sources = 0;        ///< number of passages to show after the reply

  void add_to(CLI::App& app);
  /// Interprets the arguments that are not flags, and sets the members that depend on several
  /// flags: the model, the question, the files to read, and whether this is a chat. Throws
  /// UserError for contradictory flags.
  void settle();
  std::vector<Document> read_texts(const TextLimit& limit, size_t memory) const;
  /// Returns whether the command only prefills texts and saves the session, without a question.
  bool only_reads() const {
    return !save.empty() && sampling.max_tokens == 0 && prompt.question.empty();
  }
  /// Returns whether the user specified a method with --attention.
  bool names_attention() const;
  /// Returns whether a session is loaded and no further text is given. The question then refers to
  /// the text in the session file.
  bool asks_loaded() const { return !load.empty() && prompt.files.empty(); }

 private:
  void take_words();
  void take_default_model();
  void take_input();
  void check() const;
  void check_questions() const;

  const CLI::App* app_ = nullptr;
  std::vector<std::string> words_;  ///< arguments that are not flags: MODEL QUESTION...
};

}  // namespace longhaul
