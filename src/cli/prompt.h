#pragma once
// From documents and a question to the tokens that the model reads.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace longhaul {

struct PromptFlags {
  std::vector<std::string> files;
  std::string question;
  std::string system;
  std::string chat_template;
  bool raw = false;

  void add_to(CLI::App& app);
};

/// Throws the UserError of a prompt without text.
[[noreturn]] void refuse_empty_prompt();

struct Prompt {
  std::vector<int32_t> tokens;
  int64_t instruction = 0;  ///< how many at the end are the question and what follows it
};

/// The first turn: system message, documents and question in the model's template, or with --raw
/// the bare text, in which control tokens are recognised. Warns about broken UTF-8; throws
/// UserError when there is no text at all.
Prompt compose_prompt(const PromptFlags& flags, const std::vector<std::string>& documents,
                      const Engine& engine);

/// The tokens with which every prompt on these documents begins, whatever the question will be: a
/// session that has read them goes on with any question, also where its method cannot go back.
std::vector<int32_t> compose_before_question(const PromptFlags& flags,
                                             const std::vector<std::string>& documents,
                                             const Engine& engine);

}  // namespace longhaul
