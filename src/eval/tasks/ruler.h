#pragma once
// Reads the prompt templates of RULER's tasks (Hsieh et al. 2024, arXiv:2404.06654) from
// data/prompts/ruler.json.

#include <string>
#include <string_view>

#include "eval/data.h"
#include "eval/sample.h"

namespace longhaul {

struct RulerTemplate {
  std::string text;           ///< template, which contains {context}
  std::string answer_prefix;  ///< first words of the reply
  int max_tokens = 0;
};

/// Returns the template of a base task: "niah", "variable_tracking", "common_words_extraction",
/// "freq_words_extraction" or "qa".
RulerTemplate ruler_template(const EvalData& data, std::string_view base_task);

}  // namespace longhaul
