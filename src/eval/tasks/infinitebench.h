#pragma once
// Defines functions that InfiniteBench's tasks share (Zhang et al. 2024, arXiv:2402.13718). The
// prompts are in data/prompts/infinitebench.json. The file also contains the largest lengths of
// replies, except for the retrieval tasks.

#include <string>
#include <string_view>

#include "eval/data.h"
#include "eval/sample.h"

namespace longhaul {

struct InfinitePrompt {
  std::string text;  ///< template, which contains {context}
  int max_tokens = 0;
};

/// Returns the prompt template of task `name`. If `base` is true, returns the one for models
/// without a chat template ("yarn_mistral_templates").
InfinitePrompt infinite_prompt(const EvalData& data, std::string_view name, bool base = false);

/// Sets Sample::max_tokens and Sample::rule of a sample.
void use_prompt(Sample& sample, const InfinitePrompt& prompt, std::string_view rule);

}  // namespace longhaul
