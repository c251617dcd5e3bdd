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

/// Replaces every {name} that is the name of a field. Replacements are not searched again. Other
/// braces do not change.
std::string fill_in(std::string_view text, std::span<const PromptField> fields);

/// Sets the sample's context, separator and question. Together they are `text`, with {context} and
/// the fields filled in. Text before {context} becomes a part of the context, and white space after
/// it becomes the separator. If there is no {context}, the whole text is the question.
void place_prompt(Sample& sample, std::string_view text, std::string_view context,
                  std::span<const PromptField> fields);

/// Removes the middle of the sample's context if prompt and reply exceed request.length. LongBench
/// and InfiniteBench do this, too. request.length = 0 means no limit. The number of removed tokens
/// is stored in the sample. Throws UserError if the prompt is too long even without context.
void cut_to_length(const TaskRequest& request, Sample& sample);

}  // namespace longhaul
