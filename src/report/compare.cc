#include "report/compare.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace longhaul {
namespace {

constexpr uint64_t kSeed = 1;

struct Pairs {
  std::vector<double> a, b;
  int64_t only_a = 0, only_b = 0, other_prompts = 0;
};

std::map<std::string, std::string> prompts_of(const Cell& cell) {
  std::map<std::string, std::string> prompts;
  for (const Record* r : cell.records) prompts[r->sample_id()] = r->prompt_hash;
  return prompts;
}

void add_pairs(const Cell* a, const Cell* b, bool controls, Pairs& pairs) {
  const auto scores_of = [&](const Cell* cell) {
    return cell ? scores_by_sample(cell->records, controls) : std::map<std::string, double>();
  };
  const auto scores_a = scores_of(a), scores_b = scores_of(b);
  for (const auto& [id, score] : scores_a) {
    const auto other = scores_b.find(id);
    if (other == scores_b.end()) {
      ++pairs.only_a;
      continue;
    }
    pairs.a.push_back(score);
    pairs.b.push_back(other->second);
  }
  for (const auto& [id, score] : scores_b) pairs.only_b += scores_a.contains(id) ? 0 : 1;
  if (a == nullptr || b == nullptr) return;
  const auto prompts_b = prompts_of(*b);
  for (const auto& [id, hash] : prompts_of(*a)) {
    const auto other = prompts_b.find(id);
    if (other == prompts_b.end() || hash.empty() || other->second.empty()) continue;
    pairs.other_prompts += hash != other->second ? 1 : 0;
  }
}

void add_difference(std::vector<Difference>& list, Difference d, const Pairs& pairs) {
  if (pairs.a.empty()) return;
  d.paired = paired_difference(pairs.a, pairs.b, kSeed);
  d.only_a = pairs.only_a;
  d.only_b = pairs.only_b;
  d.other_prompts = pairs.other_prompts;
  list.push_back(d);
}

void correct(std::vector<Difference>& list) {
  std::vector<double> p;
  for (const Difference& d : list) p.push_back(d.paired.p);
  const std::vector<double> adjusted = holm_adjusted(p);
  for (size_t i = 0; i < list.size(); ++i) list[i].p_holm = adjusted[i];
}

std::optional<size_t> find_method(const Results& results, size_t run, const std::string& name) {
  const auto& series = results.series();
  for (size_t i = 0; i < series.size(); ++i) {
    const bool called = series[i].method == name || series[i].label == name;
    if (series[i].run == run && called) return i;
  }
  return std::nullopt;
}

std::optional<size_t> find_text(const Results& results, size_t run, const std::string& method) {
  const auto& series = results.series();
  for (size_t i = 0; i < series.size(); ++i) {
    if (series[i].run == run && series[i].method == method) return i;
  }
  return std::nullopt;
}

std::string listed(const Results& results, const std::vector<size_t>& series) {
  std::string list;
  for (const size_t i : series) list += (list.empty() ? "" : ", ") + results.series()[i].method;
  return list;
}

[[noreturn]] void no_such_method(const Results& results, const std::string& name) {
  std::set<std::string> known;
  std::string list;
  for (const Series& s : results.series()) {
    if (known.insert(s.method).second) list += (list.empty() ? "" : ", ") + s.method;
  }
  user_error("no run has the method '{}'; they have: {}", name, list.empty() ? "none" : list);
}

/// Adds (base, other) for the other methods of its run.
void add_others(const Results& results, size_t base,
                std::vector<std::pair<size_t, size_t>>& pairs) {
  const auto& series = results.series();
  for (size_t i = 0; i < series.size(); ++i) {
    const bool compared = series[i].run == series[base].run && i != base && !series[i].control;
    if (compared) pairs.emplace_back(base, i);
  }
}

}  // namespace

Comparison compare_series(const Results& results,
                          const std::vector<std::pair<size_t, size_t>>& pairs) {
  Comparison comparison;
  for (const auto& [a, b] : pairs) {
    for (size_t variant = 0; variant < results.variants().size(); ++variant) {
      const bool controls = results.series()[a].control;
      Pairs all;
      for (const int64_t length : results.lengths_of(variant)) {
        const Cell* cell_a = results.cell(variant, length, a);
        const Cell* cell_b = results.cell(variant, length, b);
        Pairs here;
        add_pairs(cell_a, cell_b, controls, here);
        add_pairs(cell_a, cell_b, controls, all);
        add_difference(comparison.by_length, {a, b, variant, length, {}, 1, 0, 0, 0}, here);
      }
      add_difference(comparison.over_lengths, {a, b, variant, std::nullopt, {}, 1, 0, 0, 0}, all);
    }
  }
  correct(comparison.over_lengths);
  correct(comparison.by_length);
  return comparison;
}

std::vector<std::pair<size_t, size_t>> pairs_against(const Results& results,
                                                     const std::string& method) {
  std::vector<std::pair<size_t, size_t>> pairs;
  bool found = false;
  for (size_t run = 0; run < results.runs().size(); ++run) {
    const auto base = find_method(results, run, method);
    if (!base) continue;
    found = true;
    add_others(results, *base, pairs);
  }
  if (!found) no_such_method(results, method);
  return pairs;
}

std::vector<std::pair<size_t, size_t>> pairs_against_dense(const Results& results) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t run = 0; run < results.runs().size(); ++run) {
    if (const auto dense = results.dense_of(run)) add_others(results, *dense, pairs);
  }
  return pairs;
}

std::vector<std::pair<size_t, size_t>> pairs_of_methods(const Results& results,
                                                        const std::string& a,
                                                        const std::string& b) {
  std::vector<std::pair<size_t, size_t>> pairs;
  bool found_a = false, found_b = false;
  for (size_t run = 0; run < results.runs().size(); ++run) {
    const auto series_a = find_method(results, run, a), series_b = find_method(results, run, b);
    found_a = found_a || series_a;
    found_b = found_b || series_b;
    if (series_a && series_b) pairs.emplace_back(*series_a, *series_b);
  }
  if (!found_a) no_such_method(results, a);
  if (!found_b) no_such_method(results, b);
  if (pairs.empty()) user_error("no run has both '{}' and '{}'", a, b);
  return pairs;
}

std::vector<std::pair<size_t, size_t>> pairs_of_runs(const Results& results) {
  LH_ASSERT(results.runs().size() == 2);
  const auto& series = results.series();
  std::vector<std::pair<size_t, size_t>> pairs, controls;
  std::vector<size_t> methods[2];
  for (size_t i = 0; i < series.size(); ++i) {
    if (!series[i].control) methods[series[i].run].push_back(i);
    if (series[i].run != 0) continue;
    if (const auto same = find_text(results, 1, series[i].method)) {
      (series[i].control ? controls : pairs).emplace_back(i, *same);
    }
  }
  if (pairs.empty() && methods[0].size() == 1 && methods[1].size() == 1) {
    pairs.emplace_back(methods[0][0], methods[1][0]);
  }
  if (pairs.empty() && !methods[0].empty() && !methods[1].empty()) {
    user_error("--compare: the runs have no method in common: {} has {}; {} has {}",
               results.runs()[0].name, listed(results, methods[0]), results.runs()[1].name,
               listed(results, methods[1]));
  }
  pairs.insert(pairs.end(), controls.begin(), controls.end());
  return pairs;
}

}  // namespace longhaul
