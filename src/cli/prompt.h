#pragma once
// Converts documents and a question to the tokens that the model reads.

#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/engine.h"
#include "engine/prompt_tokens.h"

namespace longhaul {

/// The group of flags for wrapping text into a prompt.
struct PromptFormFlags {
  std::string chat_template;  ///< a name or a file; empty: the model's own
  bool raw = false;

  void add_to(CLI::App& app);
  /// Throws UserError if one flag makes another one ineffective.
  void check() const;
};

inline constexpr const char* kPromptFormGroup = "Prompt form";

struct PromptFlags {
  std::vector<std::string> files;
  std::string question;
  std::string system;
  PromptFormFlags form;
  bool template_clock = false;  ///< the template gets today's date

  void add_to(CLI::App& app);
  void check() const;  ///< see PromptFormFlags::check()
  ChatTemplate template_of(const Engine& engine) const;
};

/// Throws the UserError for a prompt without text.
[[noreturn]] void refuse_empty_prompt();

/// The first turn: system message, documents and question in the model's template, or with --raw
/// the bare text, in which control tokens are recognised. Warns about broken UTF-8 outside the
/// documents; throws UserError if there is no text at all.
PromptTokens compose_prompt(const PromptFlags& flags, const std::vector<std::string>& documents,
                            const Engine& engine);

/// tokens_before_question() for prompts about these documents. Throws UserError if there are none.
std::vector<int32_t> compose_before_question(const PromptFlags& flags,
                                             const std::vector<std::string>& documents,
                                             const Engine& engine);

}  // namespace longhaul
