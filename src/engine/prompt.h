#pragma once
// Converts texts and a question to the tokens that the model reads.

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/prompt_tokens.h"

namespace longhaul {

/// The form in which a text is wrapped before the model reads it.
struct PromptForm {
  std::string chat_template;  ///< a name or a file; empty: the model's own
  bool raw = false;           ///< no template: the model continues the bare text

  /// Throws UserError if one setting makes another one ineffective.
  void check() const;
};

/// A prompt without its texts.
struct PromptParts {
  std::string question;
  std::string system;  ///< system message
  PromptForm form;
  bool template_clock = false;  ///< the template may read today's date

  void check() const;  ///< see PromptForm::check()
  ChatTemplate template_of(const Engine& engine) const;
};

/// Throws the UserError for a prompt without text.
[[noreturn]] void refuse_empty_prompt();

/// The first turn: system message, texts and question in the model's template, or with `form.raw`
/// the bare text, in which control tokens are recognised. Warns about broken UTF-8 outside the
/// texts. Throws UserError if there is no text at all.
PromptTokens compose_prompt(const PromptParts& parts, const std::vector<std::string>& texts,
                            const Engine& engine);

/// tokens_before_question() of the prompts with these texts. Throws UserError if there are none.
std::vector<int32_t> compose_before_question(const PromptParts& parts,
                                             const std::vector<std::string>& texts,
                                             const Engine& engine);

}  // namespace longhaul
