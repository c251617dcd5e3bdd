#pragma once
// Divides prompts into passes. A pass is one forward pass over some tokens of the prompt
// (attention/step.h). The chunk is the largest number of tokens of a pass (PromptFacts::chunk).

#include <span>
#include <vector>

#include "attention/step.h"

namespace longhaul {

/// Returns passes of about equal length and at most prompt.chunk tokens.
std::vector<Pass> equal_passes(const PromptFacts& prompt);

/// Returns passes that end after the first `lead` tokens of the prompt, and then after every
/// `stride` tokens (a stride). The last stride may be shorter. A part that is longer than the chunk
/// is divided into several passes.
std::vector<Pass> stride_passes(const PromptFacts& prompt, int64_t lead, int64_t stride);
/// Returns whether a pass from stride_passes() is the last one of a complete stride.
bool ends_stride(const Pass& pass, int64_t lead, int64_t stride);

/// Returns passes in which the last `last` tokens of the prompt are not in one pass with earlier
/// tokens. The passes over the first `lead` tokens have at most prompt.chunk tokens. All later
/// passes have at most min(rows, prompt.chunk) tokens.
std::vector<Pass> passes_with_last(const PromptFacts& prompt, int64_t lead, int64_t rows,
                                   int64_t last);

/// Sets Pass::taken_back of all passes. If discarding passes (Pass::discard) follow each other, and
/// each begins where the previous one ended, the rows of all of them are removed after the last
/// one.
void mark_taken_back(std::span<Pass> passes);

/// Returns how many of the passes `next` form the next group, which is computed together: as many
/// as have at most `chunk` tokens in total, but at least one. Discarding passes at the end of the
/// group are moved to the following group, so that they are computed together with the pass that
/// they precede.
size_t passes_together(std::span<const Pass> next, int64_t chunk);

/// Returns passes that end at multiples of `tile` tokens, counted from the beginning of the
/// context. If the chunk is smaller than `tile`, returns equal_passes().
std::vector<Pass> tile_passes(const PromptFacts& prompt, int tile);

}  // namespace longhaul
