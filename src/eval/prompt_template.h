#pragma once
// Published prompts with names in braces: "Read this.\n{context}\nQuestion: {input}".

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "eval/sample.h"
#include "eval/task.h"

namespace longhaul {

using PromptField = std::pair<std::string_view, std::string_view>;

/// Every {name} that is a field is replaced by it, once; other braces stay.
std::string fill_in(std::string_view text, std::span<const PromptField> fields);

/// Sets context, separator and question so that they make `text` with {context} and the fields
/// filled in: the context begins with what stands before it, white space behind it is the
/// separator. Without {context} all of it is the question.
void place_prompt(Sample& sample, std::string_view text, std::string_view context,
                  std::span<const PromptField> fields);

/// Takes out the middle of a context whose prompt and reply do not fit request.length (0: no
/// limit), as LongBench and InfiniteBench do, and notes in the sample how much that was. UserError
/// when the rest alone is too long.
void cut_to_length(const TaskRequest& request, Sample& sample);

}  // namespace longhaul
