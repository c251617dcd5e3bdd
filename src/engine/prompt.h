#pragma once
// Converts texts and a question to the tokens that the model processes.

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/prompt_tokens.h"

namespace longhaul {

/// How a text is wrapped before the model processes it.
struct PromptForm {
  std::string chat_template;  ///< a name or a file; empty: the template of the model
  bool raw = false;           ///< whether the model continues the bare text, without a template

  /// Throws UserError if one setting makes another setting ineffective.
  void check() const;
};

/// The parts of a prompt except its texts.
struct PromptParts {
  std::string question;
  std::string system;  ///< system message
  PromptForm form;
  bool template_clock = false;  ///< whether the template may use today's date

  void check() const;  ///< throws UserError as PromptForm::check() does
  /// Returns the chat template that `form` selects.
  ChatTemplate template_of(const Engine& engine) const;
};

/// Throws the UserError for a prompt without any text.
[[noreturn]] void refuse_empty_prompt();

/// Returns the tokens of the first turn: system message, texts and question in the chat template.
/// With `form.raw` the tokens are those of the bare text, in which control tokens are recognised.
/// Warns about invalid UTF-8 outside the texts. Throws UserError if there is no text at all.
PromptTokens compose_prompt(const PromptParts& parts, const std::vector<std::string>& texts,
                            const Engine& engine);

/// Returns the tokens with which all prompts about these texts begin, whatever the question is
/// (tokens_before_question()).
std::vector<int32_t> compose_before_question(const PromptParts& parts,
                                             const std::vector<std::string>& texts,
                                             const Engine& engine);

}  // namespace longhaul
