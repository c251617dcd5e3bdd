#pragma once
// Converts the scores of retrieval heads (eval/retrieval_heads.h) to options of the attention
// methods ltri and duo, which treat these heads specially.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "attention/methods/duo/gated_heads.h"
#include "eval/retrieval_heads.h"

namespace longhaul {

struct RetrievalHead {
  int layer = 0, head = 0;  ///< index of a layer, and of a query head in it
  double score = 0;
};

/// Returns the heads whose score is at least `least`, best first. Heads with equal scores are
/// sorted by layer and head.
std::vector<RetrievalHead> retrieval_heads(const HeadScores& scores, double least);

/// Returns the value of ltri's option `heads`, such as "5.0:0.98/8.0:0.99". It contains the best
/// head of each layer.
std::string ltri_heads(std::span<const RetrievalHead> best_first);

/// Returns options of ltri for these heads. One of them is `heads`. The others differ from the
/// published settings, because ltri then finds more answers with these heads (docs/methods/ltri.md,
/// "Other models"): the index of a block consists of all its keys, and every token of the question
/// and of the reply looks up blocks.
nlohmann::ordered_json ltri_options(std::span<const RetrievalHead> best_first);

/// Returns gates for duo, one per KV head. duo gives a KV head with a high gate all keys, and makes
/// the others streaming heads. The gate is the highest score of the query heads that use the KV
/// head, at most 1. Most heads copy nothing, so their gates would all be 0. To order these heads,
/// the gate is 0.999 times this score plus 0.001 times the highest FoundHeads::distant of the same
/// query heads.
HeadGates duo_gates(const FoundHeads& found, std::span<const int> kv_heads);

/// At a given sparsity, duo keeps all keys for the heads with the highest gates (full heads).
/// Returns the number of full heads whose gate equals the gate of a streaming head. Among heads
/// with equal gates, the order of the heads determines which of them are full heads.
int chosen_by_place(const HeadGates& gates, double sparsity);

}  // namespace longhaul
