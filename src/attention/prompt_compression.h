#pragma once
// Compressing a prompt's KV once it has been read: what SnapKV, PyramidKV and H2O's one-shot form
// share. They differ in how many rows a layer keeps and in whose attention scores them.

#include <functional>
#include <memory>
#include <string_view>

#include "attention/method.h"
#include "ops/ranking.h"

namespace longhaul {

/// Column of a KV store: the attention that all rows of the text paid to a row.
inline constexpr std::string_view kAttentionSoFar = "attention";

struct PromptCompression {
  int64_t window = 0;  ///< query rows at the prompt's end that score the keys, and stay themselves
  bool by_all_rows = false;  ///< all rows of the text score the keys instead
  int kernel = 0;            ///< keys whose scores are pooled
  Pooling pooling = Pooling::kAverage;
  bool per_query_head = false;  ///< a list of rows per query head instead of per KV head
  /// Rows that a list of the layer keeps of a context of so many tokens.
  std::function<int64_t(int layer, int64_t tokens)> budget;
};

std::unique_ptr<AttentionMethod> make_prompt_compression(PromptCompression how,
                                                         const ModelShape& shape);

/// How one list is cut: the last `window` rows and, of those before them, the ones with the highest
/// pooled scores; `budget` in all. `paid` [rows]. Returns ascending row numbers.
std::vector<int32_t> compressed_rows(std::span<const float> paid, int64_t budget, int64_t window,
                                     int kernel, Pooling pooling);

}  // namespace longhaul
