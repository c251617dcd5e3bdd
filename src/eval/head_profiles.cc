#include "eval/head_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace longhaul {

std::vector<RetrievalHead> retrieval_heads(const HeadScores& scores, double least) {
  std::vector<RetrievalHead> heads;
  for (size_t l = 0; l < scores.size(); ++l) {
    for (size_t h = 0; h < scores[l].size(); ++h) {
      if (scores[l][h] < least) continue;
      heads.push_back({static_cast<int>(l), static_cast<int>(h), scores[l][h]});
    }
  }
  std::ranges::stable_sort(heads, std::ranges::greater(), &RetrievalHead::score);
  return heads;
}

std::string ltri_heads(std::span<const RetrievalHead> best_first) {
  std::vector<RetrievalHead> one_a_layer;
  for (const RetrievalHead& head : best_first) {
    const bool known = std::ranges::any_of(
        one_a_layer, [&](const RetrievalHead& other) { return other.layer == head.layer; });
    if (!known) one_a_layer.push_back(head);
  }
  std::ranges::sort(one_a_layer, {}, &RetrievalHead::layer);
  std::string text;
  for (const RetrievalHead& h : one_a_layer) {
    text += fmt::format("{}{}.{}:{:.2f}", text.empty() ? "" : "/", h.layer, h.head, h.score);
  }
  return text;
}

nlohmann::ordered_json ltri_options(std::span<const RetrievalHead> best_first) {
  return {{"heads", ltri_heads(best_first)},
          {"queries", "rows"},
          {"query_rows", 32},
          {"similarity", "max"},
          {"spans", 1},
          {"theta", 0},
          {"lambda", 0},
          {"lambda_first", 0},
          {"vectors", 512},
          {"decode", "refresh"}};
}

std::string duo_gates(const HeadScores& scores, std::span<const int> kv_heads) {
  std::string text;
  for (size_t l = 0; l < scores.size(); ++l) {
    const auto count = static_cast<size_t>(kv_heads[l]), group = scores[l].size() / count;
    for (size_t kv = 0; kv < count; ++kv) {
      const auto heads = std::span(scores[l]).subspan(kv * group, group);
      const double gate = std::min(1.0, *std::ranges::max_element(heads));
      text += fmt::format("{}{:.4f}", kv == 0 ? "" : "\t", gate);
    }
    text += "\n";
  }
  return text;
}

}  // namespace longhaul
