#include "attention/methods/fastgen/hybrid_rules.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/nth.h"
#include "base/on_device.h"

namespace longhaul {
namespace {

JudgedList on_host(HostStage& on, const JudgedList& list) {
  JudgedList here = list;
  here.tokens = on_host(on, list.tokens);
  here.classes = on(list.classes);
  here.attention = on(list.attention);
  here.recent = on(list.recent);
  return here;
}

using Rule = HybridRules::Rule;

/// Returns flags [rows]: 1 for the rows that a rule selects without the window of kWindow.
std::span<uint8_t> named(const HybridRules& rules, const JudgedList& list, Rule rule,
                         JudgedRows& memory) {
  Queue& queue = host_queue();
  const std::span<uint8_t> flags = host(memory.flags.resize(queue, list.rows));
  const View<float> averages = memory.average.resize(queue, list.rows);
  // Attention per query row that could see the stored row.
  const std::span<float> average = host(averages);
  const std::span<const uint8_t> classes = host(list.classes);
  const std::span<const float> attention = host(list.attention);
  for (size_t i = 0; i < flags.size(); ++i) {
    const int64_t token = token_of(list.tokens, static_cast<int64_t>(i));
    const size_t at = static_cast<size_t>(token);
    const uint8_t is = at < classes.size() ? classes[at] : uint8_t{JudgedList::kOrdinary};
    const bool by_class = is == JudgedList::kSpecial ||
                          (rule >= HybridRules::kPunctuation && is == JudgedList::kPunctuation);
    flags[i] = token < rules.global || by_class ? 1 : 0;
    const float saw = static_cast<float>(list.end - std::max(token, list.begin));
    average[i] = flags[i] ? -1.0f : attention[i] / saw;
  }
  if (rule < HybridRules::kHeavy) return flags;
  const RowList heavy =
      select_rows(queue, averages, {0, 0, rules.heavy_rows(list.end)}, memory.heavy);
  for (const int32_t i : host_rows(heavy)) flags[static_cast<size_t>(i)] = 1;
  return flags;
}

}  // namespace

int64_t HybridRules::window_rows(int64_t tokens) const {
  return std::max<int64_t>(1, static_cast<int64_t>(window * static_cast<double>(tokens)));
}

int64_t HybridRules::heavy_rows(int64_t tokens) const {
  return static_cast<int64_t>(std::ceil(heavy * static_cast<double>(tokens)));
}

double HybridRules::enough(const JudgedList& list) const {
  return threshold * static_cast<double>((list.end - list.begin) * list.heads);
}

namespace {

HybridRules::Rule cheapest(const HybridRules& rules, const JudgedList& list, JudgedRows& memory) {
  const std::span<const float> attention = host(list.attention), recent = host(list.recent);
  for (const Rule rule : {Rule::kSpecial, Rule::kPunctuation, Rule::kHeavy, Rule::kWindow}) {
    const std::span<const uint8_t> flags = named(rules, list, rule, memory);
    double mass = 0;
    for (size_t i = 0; i < flags.size(); ++i) {
      mass += flags[i] ? attention[i] : rule == Rule::kWindow ? recent[i] : 0.0f;
    }
    if (mass >= rules.enough(list)) return rule;
  }
  return Rule::kFull;
}

/// Calls visit(row) for the rows that a rule keeps.
template <class Visit>
void each_kept(const HybridRules& rules, const JudgedList& list, Rule rule, JudgedRows& memory,
               Visit&& visit) {
  const std::span<const uint8_t> flags = named(rules, list, rule, memory);
  const int64_t last = rule == Rule::kWindow ? rules.window_rows(list.end) : 0;
  for (int64_t i = 0; i < list.rows; ++i) {
    const bool recent = i >= list.rows - last;
    if (flags[static_cast<size_t>(i)] || recent) visit(static_cast<int32_t>(i));
  }
}

}  // namespace

std::vector<HybridRules::Verdict> HybridRules::judge(Queue& queue,
                                                     std::span<const JudgedList> lists,
                                                     JudgedRows& memory) const {
  std::vector<Verdict> verdicts(lists.size());
  const View<int32_t> there = memory.verdicts.resize(queue, 2 * std::ssize(lists));
  if (on_device(kJudgeRules, queue, *this, lists, there)) {
    HostStage on(queue);
    const std::span<const int32_t> counted = host(on(View<const int32_t>(there)));
    for (size_t l = 0; l < lists.size(); ++l) {
      verdicts[l] = {static_cast<Rule>(counted[2 * l]), counted[2 * l + 1]};
    }
    return verdicts;
  }
  for (size_t l = 0; l < lists.size(); ++l) {
    HostStage on(queue);
    const JudgedList list = on_host(on, lists[l]);
    Verdict& verdict = verdicts[l];
    verdict.rule = list.rule < 0 ? cheapest(*this, list, memory) : static_cast<Rule>(list.rule);
    if (verdict.rule == kFull) {
      verdict.rows = list.rows;
    } else {
      each_kept(*this, list, verdict.rule, memory, [&](int32_t) { ++verdict.rows; });
    }
  }
  return verdicts;
}

std::vector<RowList> HybridRules::kept(Queue& queue, std::span<const JudgedList> lists,
                                       std::span<const int64_t> counts, JudgedRows& memory) const {
  const bool there = has(kListRules, queue);
  int64_t all = 0;
  for (const int64_t count : counts) all += count;
  const View<int32_t> rows = memory.rows.resize(there ? queue : host_queue(), all);
  std::vector<View<int32_t>> parts;
  std::vector<RowList> kept;
  for (int64_t l = 0, at = 0; l < std::ssize(counts); at += nth(counts, l++)) {
    parts.push_back(rows.part(at, nth(counts, l)));
    kept.push_back({parts.back(), {}});
  }
  if (there) {
    LH_ASSERT(on_device(kListRules, queue, *this, lists, parts));
    return kept;
  }
  for (size_t l = 0; l < lists.size(); ++l) {
    HostStage on(queue);
    const JudgedList list = on_host(on, lists[l]);
    int32_t* next = host(parts[l]).data();
    each_kept(*this, list, static_cast<Rule>(list.rule), memory,
              [&](int32_t row) { *next++ = row; });
    LH_ASSERT(next == host(parts[l]).data() + parts[l].size());
  }
  return kept;
}

}  // namespace longhaul
