#pragma once
// Scores of retrieval heads as the options of the methods that go by them.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "eval/retrieval_heads.h"

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

/// A file for duo's option `gates` (attention/parts/head_gates.h): a row per layer, a gate per KV
/// head, the best score of its query heads.
std::string duo_gates(const HeadScores& scores, std::span<const int> kv_heads);

}  // namespace longhaul
