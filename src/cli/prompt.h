#pragma once
// From documents and a question to the tokens that the model reads.

#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/engine.h"
#include "engine/prompt_tokens.h"

namespace longhaul {

/// The group of flags that say how text is wrapped.
struct PromptFormFlags {
  std::string chat_template;  ///< a name or a file; empty: the model's own
  bool raw = false;

  void add_to(CLI::App& app);
  /// Throws UserError where one flag leaves another without effect.
  void check() const;
};

inline constexpr const char* kPromptFormGroup = "Prompt form";

struct PromptFlags {
  std::vector<std::string> files;
  std::string question;
  std::string system;
  PromptFormFlags form;
  bool template_clock = false;  ///< the template is told today's date

  void add_to(CLI::App& app);
  void check() const;  ///< as PromptFormFlags::check()
  ChatTemplate template_of(const Engine& engine) const;
};

/// Throws the UserError of a prompt without text.
[[noreturn]] void refuse_empty_prompt();

/// The first turn: system message, documents and question in the model's template, or with --raw
/// the bare text, in which control tokens are recognised. Warns about broken UTF-8 beside
/// the documents; throws UserError when there is no text at all.
PromptTokens compose_prompt(const PromptFlags& flags, const std::vector<std::string>& documents,
                            const Engine& engine);

/// tokens_before_question() of the prompts on these documents. Throws UserError when there are
/// none.
std::vector<int32_t> compose_before_question(const PromptFlags& flags,
                                             const std::vector<std::string>& documents,
                                             const Engine& engine);

}  // namespace longhaul
