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
  return {{"heads", ltri_heads(best_first)}, {"form", "longhaul"}, {"decode", "refresh"}};
}

HeadGates duo_gates(const FoundHeads& found, std::span<const int> kv_heads) {
  constexpr double kByDistance = 0.001;
  HeadGates gates;
  for (size_t l = 0; l < found.scores.size(); ++l) {
    const auto count = static_cast<size_t>(kv_heads[l]), group = found.scores[l].size() / count;
    const auto best = [&](const HeadScores& scores, size_t kv) {
      return std::min(1.0,
                      *std::ranges::max_element(std::span(scores[l]).subspan(kv * group, group)));
    };
    gates.emplace_back();
    for (size_t kv = 0; kv < count; ++kv) {
      gates.back().push_back((1 - kByDistance) * best(found.scores, kv) +
                             kByDistance * best(found.distant, kv));
    }
  }
  return gates;
}

int chosen_by_place(const HeadGates& gates, double sparsity) {
  const FullHeads full = full_by_sparsity(gates, sparsity);
  std::vector<double> streaming;
  for (size_t l = 0; l < gates.size(); ++l) {
    for (size_t h = 0; h < gates[l].size(); ++h) {
      if (full[l][h] == 0) streaming.push_back(gates[l][h]);
    }
  }
  int count = 0;
  for (size_t l = 0; l < gates.size(); ++l) {
    for (size_t h = 0; h < gates[l].size(); ++h) {
      if (full[l][h] != 0 && std::ranges::count(streaming, gates[l][h]) > 0) ++count;
    }
  }
  return count;
}

}  // namespace longhaul
