#pragma once
// How prompts are cut into passes.

#include <span>
#include <vector>

#include "attention/step.h"

namespace longhaul {

/// Equal passes of at most `chunk` rows, so that there is no tiny last one.
std::vector<Pass> equal_passes(const PromptFacts& prompt);

/// The prompt's first `lead` tokens, then strides of `stride` tokens (the last may be shorter). The
/// chunk only cuts a stride into several passes.
std::vector<Pass> stride_passes(const PromptFacts& prompt, int64_t lead, int64_t stride);
/// Whether a pass of those ends a whole stride.
bool ends_stride(const Pass& pass, int64_t lead, int64_t stride);

/// The first `lead` tokens, then passes of at most min(rows, prompt.chunk) rows, of which the last
/// ones hold the prompt's last `last` tokens and nothing else.
std::vector<Pass> passes_with_last(const PromptFacts& prompt, int64_t lead, int64_t rows,
                                   int64_t last);

/// Sets how many rows leave behind each pass: those of passes that discard, where they end.
void mark_taken_back(std::span<Pass> passes);

/// How many of the next passes, at least one, are computed together: as many as have at most
/// `chunk` rows. Those that discard at the end of them wait for the pass that they are read for,
/// since a prompt is not cancelled between the two.
size_t passes_together(std::span<const Pass> next, int64_t chunk);

/// Passes that end where tiles of `tile` tokens of the context do, as far as the cap allows.
std::vector<Pass> tile_passes(const PromptFacts& prompt, int tile);

}  // namespace longhaul
