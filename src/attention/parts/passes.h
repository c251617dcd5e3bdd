#pragma once
// Divides prompts into passes. A pass is one forward pass over some tokens of the prompt
// (attention/step.h). The chunk (PromptFacts::chunk) is the largest number of rows of a pass.

#include <span>
#include <vector>

#include "attention/step.h"

namespace longhaul {

/// Returns passes of at most `chunk` rows and about equal length, so that the last one is not tiny.
std::vector<Pass> equal_passes(const PromptFacts& prompt);

/// Returns passes for the first `lead` tokens of the prompt, and then for strides of `stride`
/// tokens. The last stride may be shorter. A stride longer than the chunk is divided into several
/// passes.
std::vector<Pass> stride_passes(const PromptFacts& prompt, int64_t lead, int64_t stride);
/// Returns whether a pass from stride_passes() ends a complete stride.
bool ends_stride(const Pass& pass, int64_t lead, int64_t stride);

/// Returns the passes of a prompt whose last `last` tokens get passes of their own. The first
/// `lead` tokens are divided by the chunk alone. All later passes have at most min(rows,
/// prompt.chunk) rows.
std::vector<Pass> passes_with_last(const PromptFacts& prompt, int64_t lead, int64_t rows,
                                   int64_t last);

/// Sets Pass::taken_back. The rows of adjacent discarding passes are removed after the last of
/// them, if each pass begins where the previous one ended.
void mark_taken_back(std::span<Pass> passes);

/// Returns how many of the next passes are computed together: as many as have at most `chunk` rows
/// in total, but at least one. Discarding passes at the end are left for the next group, so that
/// they are computed together with the pass that they precede. A prompt cannot be cancelled within
/// a group.
size_t passes_together(std::span<const Pass> next, int64_t chunk);

/// Returns passes that end at multiples of `tile` tokens of the context. If the chunk is smaller
/// than a tile, returns equal_passes().
std::vector<Pass> tile_passes(const PromptFacts& prompt, int tile);

}  // namespace longhaul
