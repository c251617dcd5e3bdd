#pragma once
// Converts scores of retrieval heads to options of the methods that use them.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "attention/methods/duo/gated_heads.h"
#include "eval/retrieval_heads.h"

namespace longhaul {

struct RetrievalHead {
  int layer = 0, head = 0;  ///< a query head
  double score = 0;
};

/// Returns the heads whose score is at least `least`, best first. Heads with equal scores are
/// sorted by layer and head.
std::vector<RetrievalHead> retrieval_heads(const HeadScores& scores, double least);

/// Returns the value of ltri's option `heads`, such as "5.0:0.98/8.0:0.99". It contains the best
/// head of each layer.
std::string ltri_heads(std::span<const RetrievalHead> best_first);

/// Returns options of ltri for these heads. The first one is `heads`. The other options differ from
/// the published settings, because they find more answers with these heads (docs/methods/ltri.md,
/// "Other models"). With these options, the index of a block consists of all its keys, and every
/// row of the question and every generated token looks up blocks.
nlohmann::ordered_json ltri_options(std::span<const RetrievalHead> best_first);

/// Returns gates for duo. The gate of a KV head is the highest score of its query heads, at most 1.
/// Most heads copy nothing, so their gates would all be 0. To order these heads, 0.001 times a
/// second value is added to the gate. This value is the highest frequency with which one of the
/// query heads attends to keys that a streaming head would have evicted.
HeadGates duo_gates(const FoundHeads& found, std::span<const int> kv_heads);

/// Returns the number of heads that are full heads at this sparsity only because of their position,
/// although a streaming head has the same gate.
int chosen_by_place(const HeadGates& gates, double sparsity);

}  // namespace longhaul
