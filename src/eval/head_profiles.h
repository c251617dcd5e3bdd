#pragma once
// Converts scores of retrieval heads to options of the methods that use them.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "eval/retrieval_heads.h"
#include "ops/choose/gated_heads.h"

namespace longhaul {

struct RetrievalHead {
  int layer = 0, head = 0;  ///< a query head
  double score = 0;
};

/// Heads with at least the score `least`, best first; ties go to the lower layer, then the lower
/// head.
std::vector<RetrievalHead> retrieval_heads(const HeadScores& scores, double least);

/// The value of ltri's option `heads`: the best of each layer, "5.0:0.98/8.0:0.99".
std::string ltri_heads(std::span<const RetrievalHead> best_first);

/// Options of ltri for such heads, `heads` first. The others are not the published settings but
/// those that find more answers with these heads (docs/methods/ltri.md, "Other models"): all keys
/// of a block are its index, every row of the question looks up, and so does each generated token.
nlohmann::ordered_json ltri_options(std::span<const RetrievalHead> best_first);

/// Gates for duo per KV head: the best score of its query heads, at most 1. Most heads copy nothing
/// and would be equal. A thousandth of the gate therefore is the frequency with which the best of
/// them attends to keys that a streaming head would have evicted.
HeadGates duo_gates(const FoundHeads& found, std::span<const int> kv_heads);

/// Number of heads kept full at this sparsity only because of their position: some streaming head
/// has the same gate.
int chosen_by_place(const HeadGates& gates, double sparsity);

}  // namespace longhaul
