#include "attention/hybrid_rules.h"

#include <algorithm>
#include <cmath>

#include "ops/ranking.h"

namespace longhaul {

int64_t HybridRules::window_rows(int64_t tokens) const {
  return std::max<int64_t>(1, static_cast<int64_t>(window * static_cast<double>(tokens)));
}

/// Rows that a rule names for what they are, the window not counted: flags [rows].
std::vector<uint8_t> HybridRules::named(const JudgedList& list, Rule rule) const {
  std::vector<uint8_t> flags(list.tokens.size());
  std::vector<float> average(flags.size());  // over the rows that could see the key
  for (size_t i = 0; i < flags.size(); ++i) {
    const int64_t token = list.tokens[i];
    flags[i] = token < global || list.classes[i] == TokenClass::kSpecial ||
               (rule >= kPunctuation && list.classes[i] == TokenClass::kPunctuation);
    const float saw = static_cast<float>(list.end - std::max(token, list.begin));
    average[i] = flags[i] ? -1.0f : list.attention[i] / saw;
  }
  if (rule < kHeavy) return flags;
  const auto most = static_cast<int64_t>(std::ceil(heavy * static_cast<double>(list.end)));
  for (const int32_t i : top_indices(average, most)) flags[static_cast<size_t>(i)] = 1;
  return flags;
}

HybridRules::Rule HybridRules::cheapest(const JudgedList& list) const {
  const double paid = static_cast<double>((list.end - list.begin) * list.heads);
  for (const Rule rule : {kSpecial, kPunctuation, kHeavy, kWindow}) {
    const std::vector<uint8_t> flags = named(list, rule);
    double mass = 0;
    for (size_t i = 0; i < flags.size(); ++i) {
      mass += flags[i] ? list.attention[i] : rule == kWindow ? list.recent[i] : 0.0f;
    }
    if (mass >= threshold * paid) return rule;
  }
  return kFull;
}

std::vector<int32_t> HybridRules::kept(const JudgedList& list, Rule rule) const {
  const std::vector<uint8_t> flags = named(list, rule);
  const int64_t rows = std::ssize(flags), last = rule == kWindow ? window_rows(list.end) : 0;
  std::vector<int32_t> stay;
  for (int64_t i = 0; i < rows; ++i) {
    if (flags[static_cast<size_t>(i)] || i >= rows - last) stay.push_back(static_cast<int32_t>(i));
  }
  return stay;
}

}  // namespace longhaul
