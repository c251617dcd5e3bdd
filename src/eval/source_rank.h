#pragma once
// Whether the passage that a reply drew on most is the one that holds the answer.

#include <span>

#include "engine/sources.h"
#include "eval/compose.h"

namespace longhaul {

/// The place of the first passage that holds one of `prompt.answer` among those that `reply`, the
/// tokens behind the prompt, looked at (engine/passages.h): 1 the first; 0: not among the first 10.
int64_t source_rank(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                    const SourceWatch& watch, std::span<const int32_t> reply);

}  // namespace longhaul
