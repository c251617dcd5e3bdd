#pragma once
// What the files of InfiniteBench's tasks share (Zhang et al. 2024, arXiv:2402.13718): prompts and,
// but for the retrieval tasks, reply lengths from data/prompts/infinitebench.json.

#include <string>
#include <string_view>

#include "eval/data.h"
#include "eval/sample.h"

namespace longhaul {

struct InfinitePrompt {
  std::string text;  ///< with {context}
  int max_tokens = 0;
};

/// The prompt for chat models; for base models ("yarn_mistral_templates") where `base`.
InfinitePrompt infinite_prompt(const EvalData& data, std::string_view name, bool base = false);

/// Reply length and score rule of a sample.
void use_prompt(Sample& sample, const InfinitePrompt& prompt, std::string_view rule);

}  // namespace longhaul
