#pragma once
// Fills in published prompts with names in braces:
// "Read this.\n{context}\nQuestion: {input}".

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "eval/sample.h"
#include "eval/task.h"

namespace longhaul {

using PromptField = std::pair<std::string_view, std::string_view>;

/// Replaces every {name} that is a field, without recursion. Other braces do not change.
std::string fill_in(std::string_view text, std::span<const PromptField> fields);

/// Sets context, separator and question so that they form `text` with {context} and the fields
/// filled in. The context includes the text before it, and the white space after it is the
/// separator. Without {context} the whole text is the question.
void place_prompt(Sample& sample, std::string_view text, std::string_view context,
                  std::span<const PromptField> fields);

/// Removes the middle of a context if prompt and reply exceed request.length (0: no limit), as
/// LongBench and InfiniteBench do, and records the removed amount in the sample. UserError if the
/// rest alone is too long.
void cut_to_length(const TaskRequest& request, Sample& sample);

}  // namespace longhaul
