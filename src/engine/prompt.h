#pragma once
// Converts texts and a question to the tokens that the model processes.

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/prompt_tokens.h"

namespace longhaul {

/// Selects the chat template in which texts and question are placed.
struct PromptForm {
  std::string chat_template;  ///< a name or a file; empty: the template of the model
  bool raw = false;  ///< whether no template is used, so that the model continues the bare text

  /// Throws UserError if `raw` is combined with a setting that has no effect without a template.
  void check() const;
};

/// The parts of a prompt except its texts.
struct PromptParts {
  std::string question;
  std::string system;  ///< system message
  PromptForm form;
  bool template_clock = false;  ///< whether the template may use today's date

  void check() const;  ///< throws UserError if PromptForm::check() does
  /// Returns the chat template that `form` selects.
  ChatTemplate template_of(const Engine& engine) const;
};

/// Throws the UserError for a prompt without any text.
[[noreturn]] void refuse_empty_prompt();

/// Returns the tokens of the first turn: system message, texts and question in the chat template.
/// If form.raw is true, returns the tokens of the texts and the question without a template. Names
/// of control tokens in this text are then recognised. Warns about invalid UTF-8 outside the texts.
/// Throws UserError if there is no text at all.
PromptTokens compose_prompt(const PromptParts& parts, const std::vector<std::string>& texts,
                            const Engine& engine);

/// Returns the tokens with which the prompts for all questions about these texts begin
/// (tokens_before_question()).
std::vector<int32_t> compose_before_question(const PromptParts& parts,
                                             const std::vector<std::string>& texts,
                                             const Engine& engine);

}  // namespace longhaul
