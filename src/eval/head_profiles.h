#pragma once
// Scores of retrieval heads as the options of the methods that go by them.

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

/// Those with at least the score, best first; of equal ones the lower layer, then the lower head.
std::vector<RetrievalHead> retrieval_heads(const HeadScores& scores, double least);

/// The value of ltri's option `heads`: the best of each layer, "5.0:0.98/8.0:0.99".
std::string ltri_heads(std::span<const RetrievalHead> best_first);

/// Options of ltri that suit such heads, `heads` first. Beside it not the published settings but
/// those that find more of what is asked for with found heads (docs/methods/ltri.md, "Other
/// models"): all keys of a block are its index, every row of the question looks up, and so does
/// each generated token.
nlohmann::ordered_json ltri_options(std::span<const RetrievalHead> best_first);

/// Gates for duo by KV head: the best score of its query heads, at most 1. Most heads copy nothing
/// and would be equal; a thousandth of the gate is how often the best of them looks at what a
/// streaming head would have forgotten.
HeadGates duo_gates(const FoundHeads& found, std::span<const int> kv_heads);

/// How many of the heads that duo keeps full at this sparsity are chosen by their place alone: some
/// head that streams has the same gate.
int chosen_by_place(const HeadGates& gates, double sparsity);

}  // namespace longhaul
