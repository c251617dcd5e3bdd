#pragma once
// Division of prompts into passes.

#include <span>
#include <vector>

#include "attention/step.h"

namespace longhaul {

/// Equal passes of at most `chunk` rows, so that there is no tiny last one.
std::vector<Pass> equal_passes(const PromptFacts& prompt);

/// The prompt's first `lead` tokens, then strides of `stride` tokens (the last may be shorter). The
/// chunk only cuts a stride into several passes.
std::vector<Pass> stride_passes(const PromptFacts& prompt, int64_t lead, int64_t stride);
/// Whether such a pass ends a whole stride.
bool ends_stride(const Pass& pass, int64_t lead, int64_t stride);

/// The first `lead` tokens, then passes of at most min(rows, prompt.chunk) rows. The last passes
/// contain exactly the prompt's last `last` tokens.
std::vector<Pass> passes_with_last(const PromptFacts& prompt, int64_t lead, int64_t rows,
                                   int64_t last);

/// Sets the number of rows removed after each pass. Rows of discarding passes are removed at the
/// end of their run.
void mark_taken_back(std::span<Pass> passes);

/// Number of the next passes, at least one, that form a batch: as many as have at most `chunk`
/// rows. Discarding passes at the end of the batch are left for the batch of the pass that they
/// precede, since a prompt is not cancelled between the two.
size_t passes_together(std::span<const Pass> next, int64_t chunk);

/// Passes that end at multiples of `tile` tokens of the context, as far as the cap allows.
std::vector<Pass> tile_passes(const PromptFacts& prompt, int tile);

}  // namespace longhaul
