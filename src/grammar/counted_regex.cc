#include "grammar/counted_regex.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"

namespace longhaul::grammar {
namespace {

constexpr int64_t kMostCountedStates = 20'000;
constexpr int64_t kEndless = int64_t{1} << 40;

struct Lengths {
  int64_t low = 0, high = 0;
};

Lengths lengths_of(const RegexTree& tree) {
  Lengths all;
  switch (tree.kind) {
    case RegexKind::kChars:
      return {1, 1};
    case RegexKind::kSequence:
      for (const RegexTree& part : tree.parts) {
        const Lengths one = lengths_of(part);
        all.low = std::min(kEndless, all.low + one.low);
        all.high = std::min(kEndless, all.high + one.high);
      }
      return all;
    case RegexKind::kChoice:
      all = {kEndless, 0};
      for (const RegexTree& part : tree.parts) {
        const Lengths one = lengths_of(part);
        all = {std::min(all.low, one.low), std::max(all.high, one.high)};
      }
      return all;
    case RegexKind::kRepeat: {
      const Lengths one = lengths_of(tree.parts[0]);
      const auto times = [](int64_t length, int64_t count) {
        if (length == 0 || count == 0) return int64_t{0};
        return count == kUnlimited ? kEndless : std::min(kEndless, length * count);
      };
      return {times(one.low, tree.low), times(one.high, tree.high)};
    }
    default:
      return all;
  }
}

/// A tree for the counts that a limit leaves, if only one part of a sequence varies and its length
/// is the number of its repeats: [a-z]+ with at most 5 characters is [a-z]{1,5}.
std::optional<RegexTree> with_counts(const RegexTree& tree, int64_t low, int64_t high) {
  if (tree.kind == RegexKind::kRepeat) {
    if (tree.parts[0].kind != RegexKind::kChars) return {};
    RegexTree other = tree;
    other.low = std::max(other.low, low);
    if (high != kUnlimited) {
      other.high = other.high == kUnlimited ? high : std::min(other.high, high);
    }
    return other;
  }
  if (tree.kind != RegexKind::kSequence) return {};
  int64_t fixed = 0;
  size_t varying = tree.parts.size();
  for (size_t i = 0; i < tree.parts.size(); ++i) {
    const Lengths one = lengths_of(tree.parts[i]);
    if (one.low == one.high) {
      fixed += one.low;
    } else if (varying < tree.parts.size()) {
      return {};
    } else {
      varying = i;
    }
  }
  if (varying == tree.parts.size()) return {};
  if (high != kUnlimited && fixed > high) return {};
  auto part = with_counts(tree.parts[varying], std::max<int64_t>(low - fixed, 0),
                          high == kUnlimited ? high : high - fixed);
  if (!part) return {};
  RegexTree other = tree;
  other.parts[varying] = std::move(*part);
  return other;
}

/// A pattern as states with edges over characters.
struct CharStates {
  struct Edge {
    const CharSet* chars;  // null: no character
    size_t target;
  };
  std::vector<std::vector<Edge>> edges;

  size_t add() {
    if (std::ssize(edges) > kMostCountedStates) {
      user_error("it is too large to be combined with a length");
    }
    edges.emplace_back();
    return edges.size() - 1;
  }

  void emit(const RegexTree& tree, size_t from, size_t to) {
    switch (tree.kind) {
      case RegexKind::kChars:
        edges[from].push_back({&tree.chars, to});
        return;
      case RegexKind::kSequence:
        for (size_t i = 0; i + 1 < tree.parts.size(); ++i) {
          const size_t next = add();
          emit(tree.parts[i], from, next);
          from = next;
        }
        if (tree.parts.empty()) break;
        return emit(tree.parts.back(), from, to);
      case RegexKind::kChoice:
        for (const RegexTree& part : tree.parts) emit(part, from, to);
        return;
      case RegexKind::kRepeat: {
        for (int64_t i = 0; i < tree.low; ++i) {
          const size_t next = add();
          emit(tree.parts[0], from, next);
          from = next;
        }
        if (tree.high == kUnlimited) {
          const size_t loop = add();
          edges[from].push_back({nullptr, loop});
          emit(tree.parts[0], loop, loop);
          edges[loop].push_back({nullptr, to});
          return;
        }
        for (int64_t i = tree.low; i < tree.high; ++i) {
          edges[from].push_back({nullptr, to});
          const size_t next = add();
          emit(tree.parts[0], from, next);
          from = next;
        }
        break;
      }
      default:
        break;
    }
    edges[from].push_back({nullptr, to});
  }

  std::vector<size_t> closure(size_t from) const {
    std::vector<size_t> found = {from};
    for (size_t i = 0; i < found.size(); ++i) {
      for (const Edge& edge : edges[found[i]]) {
        if (edge.chars == nullptr &&
            std::find(found.begin(), found.end(), edge.target) == found.end()) {
          found.push_back(edge.target);
        }
      }
    }
    return found;
  }
};

}  // namespace

Expression counted_expression(const RegexTree& tree, int64_t low, int64_t high, Syntax& syntax,
                              const std::function<Expression(const CharSet&)>& encode) {
  const Lengths own = lengths_of(tree);
  if (own.low >= low && (high == kUnlimited || own.high <= high)) {
    return regex_expression(tree, syntax, encode);
  }
  if (own.high < low || (high != kUnlimited && own.low > high)) return syntax.nothing();
  if (const auto other = with_counts(tree, low, high)) {
    return regex_expression(*other, syntax, encode);
  }
  CharStates states;
  const size_t start = states.add(), end = states.add();
  states.emit(tree, start, end);
  // A rule for each state and each count. Beyond `low` an unlimited text need not be counted.
  const int64_t counts = (high == kUnlimited ? low : high) + 1;
  if (counts * std::ssize(states.edges) > kMostCountedStates) {
    user_error("it is too large to be combined with a length of {}", counts - 1);
  }
  const size_t width = static_cast<size_t>(counts);
  const RuleNumber first = static_cast<RuleNumber>(syntax.rules().size());
  for (size_t i = 0; i < states.edges.size() * width; ++i) {
    syntax.share(syntax.add_rule("counted pattern"));
  }
  const auto rule_at = [&](size_t state, size_t count) {
    return first + static_cast<RuleNumber>(state * width + count);
  };
  for (size_t s = 0; s < states.edges.size(); ++s) {
    const std::vector<size_t> reachable = states.closure(s);
    for (size_t count = 0; count < width; ++count) {
      std::vector<Expression> parts;
      for (const size_t from : reachable) {
        if (from == end && static_cast<int64_t>(count) >= low) parts.push_back(syntax.empty());
        for (const CharStates::Edge& edge : states.edges[from]) {
          if (edge.chars == nullptr || (count + 1 == width && high != kUnlimited)) continue;
          const size_t next = std::min(count + 1, width - 1);
          parts.push_back(
              syntax.sequence({encode(*edge.chars), syntax.call(rule_at(edge.target, next))}));
        }
      }
      syntax.define(rule_at(s, count), syntax.choice(parts));
    }
  }
  return syntax.call(rule_at(start, 0));
}

}  // namespace longhaul::grammar
