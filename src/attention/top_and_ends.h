#pragma once
// Which rows of a list stay where its ends are protected and scores decide between them: the cut of
// H2O (arXiv:2306.14048), SnapKV (arXiv:2404.14469) and EasyKV's TOVA (arXiv:2402.06262).

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// The first `first` rows, the last `last`, and of those between them the ones with the highest
/// scores; `count` in all (all rows, when there are fewer), at least first + last. `scores` [rows],
/// those of the ends do not count. Returns ascending row numbers.
std::vector<int32_t> top_and_ends(std::span<const float> scores, int64_t first, int64_t last,
                                  int64_t count);

}  // namespace longhaul
