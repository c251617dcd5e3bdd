#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "grammar/raw_rules.h"

namespace longhaul::grammar {
namespace {

constexpr int64_t kMostStates = 400'000;
constexpr int64_t kUnrolledStates = 512;  // a repeat with more states becomes rules
constexpr int64_t kInsertedStates = 40;   // rules up to this size are inserted at every call
constexpr int kDeepestInsertion = 16;
constexpr int64_t kFanOut = 16;  // repeats of a rule that repeats
constexpr int64_t kHuge = int64_t{1} << 40;

int64_t capped(int64_t states) { return std::min(states, kHuge); }

class Emitter {
 public:
  explicit Emitter(Syntax& syntax) : syntax_(syntax) {}

  RawRules emit(RuleNumber root) {
    find_inserted();
    raw_.root = root;
    need(root);
    while (!waiting_.empty()) {
      const RuleNumber rule = waiting_.back();
      waiting_.pop_back();
      const uint32_t start = new_state(), end = new_state();
      raw_.states[end].final = true;
      emit(syntax_.rules()[rule].body, start, end, 0);
      raw_.rules[rule].begin = start;
      raw_.rules[rule].end = static_cast<uint32_t>(raw_.states.size());
    }
    raw_.rules.resize(syntax_.rules().size());
    return std::move(raw_);
  }

 private:
  void need(RuleNumber rule) {
    if (raw_.rules.size() <= rule) raw_.rules.resize(syntax_.rules().size());
    if (raw_.rules[rule].used) return;
    raw_.rules[rule].used = true;
    waiting_.push_back(rule);
  }

  uint32_t new_state() {
    if (std::ssize(raw_.states) >= kMostStates) {
      user_error("the grammar is too large: it needs more than {} states", kMostStates);
    }
    raw_.states.emplace_back();
    return static_cast<uint32_t>(raw_.states.size() - 1);
  }

  /// Finds rules that call no recursive rule, bottom-up, and their sizes.
  void find_inserted() {
    const size_t count = syntax_.rules().size();
    std::vector<std::vector<RuleNumber>> callers(count);
    std::vector<size_t> open(count), uses(count);
    for (RuleNumber rule = 0; rule < count; ++rule) {
      std::vector<RuleNumber> called;
      collect_calls(syntax_.rules()[rule].body, called);
      for (const RuleNumber other : called) ++uses[other];
      std::sort(called.begin(), called.end());
      called.erase(std::unique(called.begin(), called.end()), called.end());
      open[rule] = called.size();
      for (const RuleNumber other : called) callers[other].push_back(rule);
    }
    inserted_.assign(count, false);
    rule_sizes_.assign(count, 1);
    std::vector<RuleNumber> ready;
    for (RuleNumber rule = 0; rule < count; ++rule) {
      if (open[rule] == 0) ready.push_back(rule);
    }
    while (!ready.empty()) {
      const RuleNumber rule = ready.back();
      ready.pop_back();
      const int64_t states = size_of(syntax_.rules()[rule].body);
      inserted_[rule] = !syntax_.rules()[rule].shared &&
                        (states <= kInsertedStates || (uses[rule] == 1 && states < kMostStates));
      if (inserted_[rule]) rule_sizes_[rule] = states;
      for (const RuleNumber caller : callers[rule]) {
        if (--open[caller] == 0) ready.push_back(caller);
      }
    }
  }

  void collect_calls(Expression e, std::vector<RuleNumber>& called) const {
    std::vector<Expression> left = {e};
    while (!left.empty()) {
      const Node& node = syntax_.node(left.back());
      left.pop_back();
      if (node.kind == NodeKind::kCall) called.push_back(static_cast<RuleNumber>(node.low));
      for (const Expression child : syntax_.children(node)) left.push_back(child);
    }
  }

  int64_t size_of(Expression e) {
    if (const auto known = sizes_.find(e); known != sizes_.end()) return known->second;
    const Node& node = syntax_.node(e);
    int64_t states = 0;
    switch (node.kind) {
      case NodeKind::kNothing:
      case NodeKind::kEmpty:
        break;
      case NodeKind::kBytes:
        states = 1;
        break;
      case NodeKind::kText:
        states = std::ssize(node.text);
        break;
      case NodeKind::kCall: {
        const size_t rule = static_cast<size_t>(node.low);
        states = rule < rule_sizes_.size() ? rule_sizes_[rule] : 1;
        break;
      }
      case NodeKind::kSequence:
      case NodeKind::kChoice:
        for (const Expression child : syntax_.children(node)) {
          states = capped(states + size_of(child));
        }
        break;
      case NodeKind::kRepeat: {
        const int64_t one = size_of(syntax_.children(node)[0]) + 1;
        const int64_t times = std::max<int64_t>({1, node.low, node.high});
        const bool unrolled = times <= kUnrolledStates && one * times <= kUnrolledStates;
        states = unrolled ? one * times : capped(one + 4 * kFanOut * 16);
        break;
      }
    }
    sizes_[e] = states;
    return states;
  }

  void byte_edge(uint32_t from, uint8_t low, uint8_t high, uint32_t to) {
    raw_.states[from].bytes.push_back({low, high, to});
  }
  void empty_edge(uint32_t from, uint32_t to) {
    if (from != to) raw_.states[from].empties.push_back(to);
  }

  /// Adds paths from one state to another. No path leads back to `from` unless `to` equals it.
  void emit(Expression e, uint32_t from, uint32_t to, int inserted) {
    const Node node = syntax_.node(e);  // a copy: rules may be added below
    switch (node.kind) {
      case NodeKind::kNothing:
        return;
      case NodeKind::kEmpty:
        return empty_edge(from, to);
      case NodeKind::kBytes:
        return byte_edge(from, static_cast<uint8_t>(node.low), static_cast<uint8_t>(node.high), to);
      case NodeKind::kText:
        for (size_t i = 0; i < node.text.size(); ++i) {
          const uint32_t next = i + 1 == node.text.size() ? to : new_state();
          const uint8_t byte = static_cast<uint8_t>(node.text[i]);
          byte_edge(from, byte, byte, next);
          from = next;
        }
        return;
      case NodeKind::kSequence:
        for (uint32_t i = 0; i < node.count; ++i) {
          const uint32_t next = i + 1 == node.count ? to : new_state();
          emit(syntax_.children(node)[i], from, next, inserted);
          from = next;
        }
        return;
      case NodeKind::kChoice:
        for (uint32_t i = 0; i < node.count; ++i) {
          emit(syntax_.children(node)[i], from, to, inserted);
        }
        return;
      case NodeKind::kRepeat:
        return emit_repeat(node, from, to, inserted);
      case NodeKind::kCall: {
        const RuleNumber rule = static_cast<RuleNumber>(node.low);
        if (rule < inserted_.size() && inserted_[rule] && inserted < kDeepestInsertion) {
          return emit(syntax_.rules()[rule].body, from, to, inserted + 1);
        }
        need(rule);
        raw_.states[from].calls.push_back({rule, to});
        return;
      }
    }
  }

  void emit_repeat(const Node& node, uint32_t from, uint32_t to, int inserted) {
    const Expression child = syntax_.children(node)[0];
    const int64_t one = size_of(child) + 1;
    const int64_t times = std::max<int64_t>({1, node.low, node.high});
    if (times > kUnrolledStates || one * times > kUnrolledStates) {
      return emit(long_repeat(child, node.low, node.high), from, to, inserted);
    }
    for (int64_t i = 0; i < node.low; ++i) {
      const uint32_t next = new_state();
      emit(child, from, next, inserted);
      from = next;
    }
    if (node.high == kUnlimited) {
      const uint32_t loop = new_state();
      empty_edge(from, loop);
      emit(child, loop, loop, inserted);
      return empty_edge(loop, to);
    }
    for (int64_t i = node.low; i < node.high; ++i) {
      empty_edge(from, to);
      const uint32_t next = new_state();
      emit(child, from, next, inserted);
      from = next;
    }
    empty_edge(from, to);
  }

  Expression long_repeat(Expression child, int64_t low, int64_t high) {
    if (syntax_.node(child).kind != NodeKind::kCall) {
      child = syntax_.call(syntax_.rule_of("repeated", child));
    }
    const Expression least = power(child, low);
    if (high == kUnlimited) return syntax_.sequence({least, syntax_.repeat(child, 0, kUnlimited)});
    return syntax_.sequence({least, up_to(child, high - low)});
  }

  /// Exactly `times`, as rules of rules.
  Expression power(Expression child, int64_t times) {
    if (times == 0) return syntax_.empty();
    std::vector<Expression> parts;
    if (times > kFanOut) {
      const RuleNumber part = syntax_.rule_of("repeated", power(child, times / kFanOut));
      parts.assign(kFanOut, syntax_.call(part));
      parts.push_back(power(child, times % kFanOut));
    } else {
      parts.assign(static_cast<size_t>(times), child);
    }
    return syntax_.sequence(parts);
  }

  /// At most `times`: some full parts, and then at most one part that need not be full.
  Expression up_to(Expression child, int64_t times) {
    if (times <= 0) return syntax_.empty();
    if (times <= kFanOut) {
      Expression e = syntax_.empty();
      for (int64_t i = 0; i < times; ++i) e = syntax_.optional(syntax_.sequence({child, e}));
      return e;
    }
    const int64_t part = times / kFanOut;
    const Expression full = syntax_.call(syntax_.rule_of("repeated", power(child, part)));
    const Expression some = syntax_.call(syntax_.rule_of("repeated", up_to(child, part)));
    Expression e = up_to(child, times % kFanOut);
    for (int64_t i = 0; i < kFanOut; ++i) {
      e = syntax_.choice({some, syntax_.sequence({full, e})});
    }
    return e;
  }

  Syntax& syntax_;
  RawRules raw_;
  std::vector<RuleNumber> waiting_;
  std::vector<bool> inserted_;
  std::vector<int64_t> rule_sizes_;
  std::unordered_map<Expression, int64_t> sizes_;
};

}  // namespace

RawRules emit_rules(Syntax& syntax, RuleNumber root) { return Emitter(syntax).emit(root); }

}  // namespace longhaul::grammar
