#pragma once
// Defines the flags for the prompt: texts, question, system message and chat template.

#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "documents/page_ranges.h"
#include "engine/prompt.h"

namespace longhaul {

inline constexpr const char* kPromptFormGroup = "Prompt form";

/// Adds --chat-template and --raw.
void add_prompt_form(CLI::App& app, PromptForm& form);

/// Adds --pages.
void add_pages(CLI::App& app, PageRanges& pages);

struct PromptFlags : PromptParts {
  std::vector<std::string> files;
  PageRanges pages;  ///< pages of the files to read

  void add_to(CLI::App& app);
};

}  // namespace longhaul
