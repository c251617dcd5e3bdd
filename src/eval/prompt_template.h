#pragma once
// Fills in the templates of published prompts. A template contains names in braces: "Read
// this.\n{context}\nQuestion: {input}".

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "eval/sample.h"
#include "eval/task.h"

namespace longhaul {

using PromptField = std::pair<std::string_view, std::string_view>;

/// Replaces every {name} that is the name of a field. Names in the inserted text are not replaced.
/// Other braces do not change.
std::string fill_in(std::string_view text, std::span<const PromptField> fields);

/// Fills in the template `text` and splits the result into the sample's context, separator and
/// question. {context} is replaced by `context`. The text before {context} becomes the beginning of
/// the sample's context. White space after {context} becomes the separator, and the rest becomes
/// the question. If the template has no {context}, the whole text is the question.
void place_prompt(Sample& sample, std::string_view text, std::string_view context,
                  std::span<const PromptField> fields);

/// Removes the middle of the sample's context if prompt and reply exceed request.length tokens, as
/// LongBench and InfiniteBench do. request.length = 0 means no limit. The number of removed tokens
/// is stored in Sample::cut_tokens. Throws UserError if the prompt is too long even without
/// context.
void cut_to_length(const TaskRequest& request, Sample& sample);

}  // namespace longhaul
