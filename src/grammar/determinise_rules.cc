#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "grammar/raw_rules.h"

namespace longhaul::grammar {
namespace {

/// The subset construction on one rule. Called rules count as symbols.
class Determiniser {
 public:
  explicit Determiniser(const std::vector<RawState>& states)
      : from_(states), seen_(states.size(), 0) {}

  /// Numbers of the new states begin with `base`. False if too much work would be needed.
  bool run(const RawRule& rule, uint32_t base) {
    base_ = base;
    out_.clear();
    sets_.clear();
    // Clearing a large table costs time for each entry, and most rules are small.
    if (numbers_.bucket_count() > 256) numbers_ = {};
    numbers_.clear();
    work_ = 0;
    int64_t size = 0;
    for (uint32_t s = rule.begin; s < rule.end; ++s) {
      size += 1 + std::ssize(from_[s].bytes) + std::ssize(from_[s].calls) +
              std::ssize(from_[s].empties);
    }
    most_work_ = 16 * size + 4096;
    number_of({rule.begin});
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (work_ > most_work_) return false;
      expand(i);
    }
    return work_ <= most_work_;
  }

  std::vector<RawState>& states() { return out_; }

 private:
  /// The number of the state for the states reachable from these without a byte.
  uint32_t number_of(std::vector<uint32_t> set) {
    close(set);
    const std::string key(reinterpret_cast<const char*>(set.data()), set.size() * sizeof(uint32_t));
    const auto [place, added] = numbers_.emplace(key, static_cast<uint32_t>(sets_.size()));
    if (added) {
      sets_.push_back(std::move(set));
      out_.emplace_back();
    }
    return base_ + place->second;
  }

  void close(std::vector<uint32_t>& set) {
    ++round_;
    std::vector<uint32_t> found;
    std::vector<uint32_t> left = std::move(set);
    for (const uint32_t s : left) seen_[s] = round_;
    while (!left.empty()) {
      const uint32_t s = left.back();
      left.pop_back();
      ++work_;
      const RawState& state = from_[s];
      if (state.final || !state.bytes.empty() || !state.calls.empty()) found.push_back(s);
      for (const uint32_t target : state.empties) {
        if (seen_[target] == round_) continue;
        seen_[target] = round_;
        left.push_back(target);
      }
    }
    std::sort(found.begin(), found.end());
    set = std::move(found);
  }

  void expand(size_t number) {
    const std::vector<uint32_t> set = sets_[number];
    std::vector<ByteEdge> edges;
    std::map<RuleNumber, std::vector<uint32_t>> backs;
    for (const uint32_t s : set) {
      if (from_[s].final) out_[number].final = true;
      edges.insert(edges.end(), from_[s].bytes.begin(), from_[s].bytes.end());
      for (const RawCall& call : from_[s].calls) backs[call.rule].push_back(call.back);
    }
    work_ += std::ssize(edges) + std::ssize(backs);
    for (auto& [rule, targets] : backs) {
      sort_unique(targets);
      const uint32_t back = number_of(targets);
      out_[number].calls.push_back({rule, back});
    }
    for (const auto& [low, high, targets] : split(edges)) {
      const uint32_t target = number_of(targets);
      std::vector<ByteEdge>& done = out_[number].bytes;
      if (!done.empty() && done.back().target == target && done.back().high + 1 == low) {
        done.back().high = high;
      } else {
        done.push_back({low, high, target});
      }
    }
  }

  struct Interval {
    uint8_t low, high;
    std::vector<uint32_t> targets;
  };

  /// Divides overlapping edges into intervals with the same targets.
  std::vector<Interval> split(const std::vector<ByteEdge>& edges) {
    if (edges.empty()) return {};
    if (edges.size() == 1) return {{edges[0].low, edges[0].high, {edges[0].target}}};
    std::vector<bool> begins(257);
    for (const ByteEdge& edge : edges) {
      begins[edge.low] = true;
      begins[size_t{edge.high} + 1] = true;
    }
    std::vector<int> interval_of(256, -1);
    std::vector<Interval> intervals;
    for (size_t byte = 0; byte < 256; ++byte) {
      if (begins[byte] || intervals.empty())
        intervals.push_back({static_cast<uint8_t>(byte), 0, {}});
      intervals.back().high = static_cast<uint8_t>(byte);
      interval_of[byte] = static_cast<int>(intervals.size()) - 1;
    }
    for (const ByteEdge& edge : edges) {
      for (int i = interval_of[edge.low]; i <= interval_of[edge.high]; ++i) {
        intervals[static_cast<size_t>(i)].targets.push_back(edge.target);
        ++work_;
      }
    }
    std::erase_if(intervals, [](const Interval& interval) { return interval.targets.empty(); });
    for (Interval& interval : intervals) sort_unique(interval.targets);
    return intervals;
  }

  static void sort_unique(std::vector<uint32_t>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }

  const std::vector<RawState>& from_;
  std::vector<RawState> out_;
  std::vector<std::vector<uint32_t>> sets_;
  std::unordered_map<std::string, uint32_t, SeededHash> numbers_;
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0, base_ = 0;
  int64_t work_ = 0, most_work_ = 0;
};

/// Copies a rule as it is.
void copy_rule(const RawRules& raw, const RawRule& rule, std::vector<RawState>& out) {
  const uint32_t base = static_cast<uint32_t>(out.size());
  const auto moved = [&](uint32_t s) { return s - rule.begin + base; };
  for (uint32_t s = rule.begin; s < rule.end; ++s) {
    RawState state = raw.states[s];
    for (ByteEdge& edge : state.bytes) edge.target = moved(edge.target);
    for (RawCall& call : state.calls) call.back = moved(call.back);
    for (uint32_t& target : state.empties) target = moved(target);
    out.push_back(std::move(state));
  }
}

}  // namespace

void determinise_rules(RawRules& raw) {
  Determiniser determiniser(raw.states);
  std::vector<RawState> out;
  std::vector<RawRule> rules = raw.rules;
  for (size_t i = 0; i < raw.rules.size(); ++i) {
    if (!raw.rules[i].used) continue;
    const uint32_t base = static_cast<uint32_t>(out.size());
    if (determiniser.run(raw.rules[i], base)) {
      for (RawState& state : determiniser.states()) out.push_back(std::move(state));
    } else {
      copy_rule(raw, raw.rules[i], out);
    }
    rules[i].begin = base;
    rules[i].end = static_cast<uint32_t>(out.size());
  }
  raw.states = std::move(out);
  raw.rules = std::move(rules);
}

}  // namespace longhaul::grammar
