#pragma once
// Shared parts of InfiniteBench's tasks (Zhang et al. 2024, arXiv:2402.13718). Prompts are in
// data/prompts/infinitebench.json. The file also contains the reply lengths, except those of the
// retrieval tasks.

#include <string>
#include <string_view>

#include "eval/data.h"
#include "eval/sample.h"

namespace longhaul {

struct InfinitePrompt {
  std::string text;  ///< template, which contains {context}
  int max_tokens = 0;
};

/// Returns the prompt for chat models. If `base` is true, returns the prompt for base models
/// ("yarn_mistral_templates").
InfinitePrompt infinite_prompt(const EvalData& data, std::string_view name, bool base = false);

/// Sets the reply length and score rule of a sample.
void use_prompt(Sample& sample, const InfinitePrompt& prompt, std::string_view rule);

}  // namespace longhaul
