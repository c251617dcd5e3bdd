#include <algorithm>

#include "base/error.h"
#include "grammar/raw_rules.h"

namespace longhaul::grammar {
namespace {

/// Edges in reverse, for a search from the ends.
struct ReverseEdges {
  struct Call {
    uint32_t from, back;
    RuleNumber rule;
  };
  std::vector<std::vector<uint32_t>> from;        // by target: empty edges, and bytes if wanted
  std::vector<std::vector<uint32_t>> after_call;  // by the state after the call: numbers of calls
  std::vector<std::vector<uint32_t>> of_rule;     // by rule: numbers of calls
  std::vector<Call> calls;

  ReverseEdges(const RawRules& raw, bool by_bytes)
      : from(raw.states.size()), after_call(raw.states.size()), of_rule(raw.rules.size()) {
    for (uint32_t s = 0; s < raw.states.size(); ++s) {
      for (const uint32_t target : raw.states[s].empties) from[target].push_back(s);
      if (by_bytes) {
        for (const ByteEdge& edge : raw.states[s].bytes) from[edge.target].push_back(s);
      }
      for (const RawCall& call : raw.states[s].calls) {
        after_call[call.back].push_back(static_cast<uint32_t>(calls.size()));
        of_rule[call.rule].push_back(static_cast<uint32_t>(calls.size()));
        calls.push_back({s, call.back, call.rule});
      }
    }
  }
};

}  // namespace

Ends find_ends(const RawRules& raw, bool by_bytes) {
  const ReverseEdges edges(raw, by_bytes);
  std::vector<int64_t> rule_at(raw.states.size(), -1);  // the rule that starts at a state
  for (size_t rule = 0; rule < raw.rules.size(); ++rule) {
    if (raw.rules[rule].used) rule_at[raw.rules[rule].begin] = static_cast<int64_t>(rule);
  }
  Ends ends{std::vector<bool>(raw.states.size()), std::vector<bool>(raw.rules.size())};
  std::vector<uint32_t> left;
  const auto mark = [&](uint32_t s) {
    if (ends.states[s]) return;
    ends.states[s] = true;
    left.push_back(s);
  };
  for (uint32_t s = 0; s < raw.states.size(); ++s) {
    if (raw.states[s].final) mark(s);
  }
  while (!left.empty()) {
    const uint32_t s = left.back();
    left.pop_back();
    for (const uint32_t from : edges.from[s]) mark(from);
    for (const uint32_t call : edges.after_call[s]) {
      if (ends.rules[edges.calls[call].rule]) mark(edges.calls[call].from);
    }
    if (rule_at[s] < 0) continue;
    const size_t rule = static_cast<size_t>(rule_at[s]);
    ends.rules[rule] = true;
    for (const uint32_t call : edges.of_rule[rule]) {
      if (ends.states[edges.calls[call].back]) mark(edges.calls[call].from);
    }
  }
  return ends;
}

void remove_dead_ends(RawRules& raw) {
  const Ends ends = find_ends(raw, true);
  if (!ends.rules[raw.root]) user_error("the grammar accepts no text");
  for (RawState& state : raw.states) {
    std::erase_if(state.bytes, [&](const ByteEdge& e) { return !ends.states[e.target]; });
    std::erase_if(state.empties, [&](uint32_t target) { return !ends.states[target]; });
    std::erase_if(state.calls, [&](const RawCall& call) {
      return !ends.rules[call.rule] || !ends.states[call.back];
    });
  }
}

namespace {

/// For every rule the rules that it may call before it has matched a byte.
std::vector<std::vector<RuleNumber>> first_calls(const RawRules& raw) {
  const Ends empty = find_ends(raw, false);
  std::vector<std::vector<RuleNumber>> first(raw.rules.size());
  std::vector<bool> seen(raw.states.size());
  std::vector<uint32_t> left;
  const auto visit = [&](uint32_t s) {
    if (seen[s]) return;
    seen[s] = true;
    left.push_back(s);
  };
  for (size_t rule = 0; rule < raw.rules.size(); ++rule) {
    if (!raw.rules[rule].used) continue;
    visit(raw.rules[rule].begin);
    while (!left.empty()) {
      const RawState& state = raw.states[left.back()];
      left.pop_back();
      for (const uint32_t target : state.empties) visit(target);
      for (const RawCall& call : state.calls) {
        first[rule].push_back(call.rule);
        if (empty.rules[call.rule]) visit(call.back);
      }
    }
  }
  return first;
}

[[noreturn]] void report_left_recursion(const Syntax& syntax, std::vector<RuleNumber> cycle) {
  std::string names;
  for (const RuleNumber rule : cycle) {
    if (names.size() > 200) {
      names += "... -> ";
      break;
    }
    names += syntax.rules()[rule].name + " -> ";
  }
  names += syntax.rules()[cycle.front()].name;
  user_error("a rule calls itself before it matches a character (left recursion): {}", names);
}

}  // namespace

void check_left_recursion(const RawRules& raw, const Syntax& syntax) {
  const auto first = first_calls(raw);
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> mark(raw.rules.size(), kNew);
  std::vector<std::pair<RuleNumber, size_t>> path;
  for (RuleNumber begin = 0; begin < raw.rules.size(); ++begin) {
    if (mark[begin] != kNew) continue;
    mark[begin] = kOpen;
    path.push_back({begin, 0});
    while (!path.empty()) {
      auto& [rule, next] = path.back();
      if (next == first[rule].size()) {
        mark[rule] = kDone;
        path.pop_back();
        continue;
      }
      const RuleNumber called = first[rule][next++];
      if (mark[called] == kOpen) {
        std::vector<RuleNumber> cycle;
        for (const auto& [on_path, unused] : path) {
          if (on_path == called || !cycle.empty()) cycle.push_back(on_path);
        }
        report_left_recursion(syntax, cycle);
      }
      if (mark[called] == kNew) {
        mark[called] = kOpen;
        path.push_back({called, 0});
      }
    }
  }
}

}  // namespace longhaul::grammar
