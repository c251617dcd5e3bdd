#include "ops/hybrid_rules.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace longhaul {
namespace {

JudgedList on_host(HostStage& on, const JudgedList& list) {
  JudgedList here = list;
  here.tokens = on(list.tokens);
  here.classes = on(list.classes);
  here.attention = on(list.attention);
  here.recent = on(list.recent);
  return here;
}

using Rule = HybridRules::Rule;

/// Rows that a rule names for what they are, the window not counted: flags [rows].
std::span<uint8_t> named(Queue& queue, const HybridRules& rules, const JudgedList& list, Rule rule,
                         JudgedRows& memory) {
  const std::span<uint8_t> flags = host(memory.flags.resize(queue, list.rows));
  const View<float> averages = memory.average.resize(queue, list.rows);
  const std::span<float> average = host(averages);  // over the rows that could see the key
  const std::span<const int32_t> tokens = host(list.tokens);
  const std::span<const uint8_t> classes = host(list.classes);
  const std::span<const float> attention = host(list.attention);
  for (size_t i = 0; i < flags.size(); ++i) {
    const int64_t token = tokens.empty() ? static_cast<int64_t>(i) : tokens[i];
    const size_t at = static_cast<size_t>(token);
    const uint8_t is = at < classes.size() ? classes[at] : uint8_t{JudgedList::kOrdinary};
    const bool by_class = is == JudgedList::kSpecial ||
                          (rule >= HybridRules::kPunctuation && is == JudgedList::kPunctuation);
    flags[i] = token < rules.global || by_class ? 1 : 0;
    const float saw = static_cast<float>(list.end - std::max(token, list.begin));
    average[i] = flags[i] ? -1.0f : attention[i] / saw;
  }
  if (rule < HybridRules::kHeavy) return flags;
  const auto most = static_cast<int64_t>(std::ceil(rules.heavy * static_cast<double>(list.end)));
  const RowList heavy = select_rows(queue, averages, {0, 0, most}, memory.heavy);
  for (const int32_t i : host_rows(heavy)) flags[static_cast<size_t>(i)] = 1;
  return flags;
}

}  // namespace

int64_t HybridRules::window_rows(int64_t tokens) const {
  return std::max<int64_t>(1, static_cast<int64_t>(window * static_cast<double>(tokens)));
}

HybridRules::Rule HybridRules::cheapest(Queue& queue, const JudgedList& list,
                                        JudgedRows& memory) const {
  if (!queue.on_host()) {
    HostStage on(queue);
    return cheapest(host_queue(), on_host(on, list), memory);
  }
  const double paid = static_cast<double>((list.end - list.begin) * list.heads);
  const std::span<const float> attention = host(list.attention), recent = host(list.recent);
  for (const Rule rule : {kSpecial, kPunctuation, kHeavy, kWindow}) {
    const std::span<const uint8_t> flags = named(queue, *this, list, rule, memory);
    double mass = 0;
    for (size_t i = 0; i < flags.size(); ++i) {
      mass += flags[i] ? attention[i] : rule == kWindow ? recent[i] : 0.0f;
    }
    if (mass >= threshold * paid) return rule;
  }
  return kFull;
}

RowList HybridRules::kept(Queue& queue, const JudgedList& list, Rule rule,
                          JudgedRows& memory) const {
  if (!queue.on_host()) {
    HostStage on(queue);
    return kept(host_queue(), on_host(on, list), rule, memory);
  }
  const std::span<const uint8_t> flags = named(queue, *this, list, rule, memory);
  const int64_t last = rule == kWindow ? window_rows(list.end) : 0;
  const View<int32_t> rows = memory.rows.resize(queue, list.rows);
  const std::span<int32_t> stay = host(rows);
  int64_t count = 0;
  for (int64_t i = 0; i < list.rows; ++i) {
    if (flags[static_cast<size_t>(i)] || i >= list.rows - last) {
      stay[static_cast<size_t>(count++)] = static_cast<int32_t>(i);
    }
  }
  return {rows.part(0, count), {}};
}

}  // namespace longhaul
