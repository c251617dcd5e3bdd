#include "grammar/syntax.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul::grammar {
namespace {

constexpr size_t kMostNodes = 2'000'000;  // bounds the memory that a hostile text can require
constexpr size_t kMostRules = 100'000;

/// Parts of UTF-8 with an equal number of bytes, and a border after each.
constexpr char32_t kLengthEnds[] = {0x7F, 0x7FF, 0xFFFF, kLastCharacter};

int encode_character(char32_t c, uint8_t (&out)[4]) {
  if (c < 0x80) {
    out[0] = static_cast<uint8_t>(c);
    return 1;
  }
  const int bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (int i = bytes - 1; i > 0; --i) {
    out[i] = static_cast<uint8_t>(0x80 | (c & 0x3F));
    c >>= 6;
  }
  constexpr uint8_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  out[0] = static_cast<uint8_t>(kLead[bytes] | c);
  return bytes;
}

/// Splits a range of characters of equal length into products of byte ranges.
void split_range(char32_t low, char32_t high, std::vector<Expression>& out, Syntax& syntax) {
  for (int tail = 1; tail < 4; ++tail) {
    const char32_t mask = (char32_t{1} << (6 * tail)) - 1;
    if (low < 0x80 || (low & ~mask) == (high & ~mask)) continue;
    if ((low & mask) != 0) {
      split_range(low, low | mask, out, syntax);
      split_range((low | mask) + 1, high, out, syntax);
      return;
    }
    if ((high & mask) != mask) {
      split_range(low, (high & ~mask) - 1, out, syntax);
      split_range(high & ~mask, high, out, syntax);
      return;
    }
  }
  uint8_t first[4], last[4];
  const int bytes = encode_character(low, first);
  encode_character(high, last);
  std::vector<Expression> parts;
  for (int i = 0; i < bytes; ++i) parts.push_back(syntax.bytes(first[i], last[i]));
  out.push_back(syntax.sequence(parts));
}

}  // namespace

Syntax::Syntax() {
  add({.kind = NodeKind::kNothing});
  add({.kind = NodeKind::kEmpty});
}

Expression Syntax::add(Node node, std::span<const Expression> parts) {
  if (nodes_.size() + children_.size() + parts.size() > kMostNodes) {
    user_error("the grammar is too large: it has more than {} parts", kMostNodes);
  }
  node.first = static_cast<uint32_t>(children_.size());
  node.count = static_cast<uint32_t>(parts.size());
  children_.insert(children_.end(), parts.begin(), parts.end());
  nodes_.push_back(std::move(node));
  return static_cast<Expression>(nodes_.size() - 1);
}

Expression Syntax::bytes(uint8_t low, uint8_t high) {
  return add({.kind = NodeKind::kBytes, .low = low, .high = high});
}

Expression Syntax::text(std::string_view bytes) {
  if (bytes.empty()) return empty();
  return add({.kind = NodeKind::kText, .text = std::string(bytes)});
}

Expression Syntax::sequence(std::span<const Expression> parts) {
  std::vector<Expression> used;
  for (const Expression e : parts) {
    if (e == nothing()) return nothing();
    if (e != empty()) used.push_back(e);
  }
  if (used.empty()) return empty();
  return used.size() == 1 ? used[0] : add({.kind = NodeKind::kSequence}, used);
}

Expression Syntax::choice(std::span<const Expression> parts) {
  std::vector<Expression> used;
  for (const Expression e : parts) {
    if (e != nothing()) used.push_back(e);
  }
  if (used.empty()) return nothing();
  return used.size() == 1 ? used[0] : add({.kind = NodeKind::kChoice}, used);
}

Expression Syntax::repeat(Expression e, int64_t low, int64_t high) {
  if (high == 0 || (e == nothing() && low == 0) || e == empty()) return empty();
  if (e == nothing()) return nothing();
  if (low == 1 && high == 1) return e;
  return add({.kind = NodeKind::kRepeat, .low = low, .high = high}, {&e, 1});
}

Expression Syntax::call(RuleNumber rule) { return add({.kind = NodeKind::kCall, .low = rule}); }

Expression Syntax::chars(const CharSet& set) {
  std::vector<Expression> parts;
  for (const CharRange& range : set.ranges()) {
    char32_t low = range.low;
    for (const char32_t end : kLengthEnds) {
      if (low > range.high) break;
      if (low > end) continue;
      split_range(low, std::min(range.high, end), parts, *this);
      low = end + 1;
    }
  }
  return choice(parts);
}

RuleNumber Syntax::add_rule(std::string name) {
  if (rules_.size() >= kMostRules) {
    user_error("the grammar is too large: it has more than {} rules", kMostRules);
  }
  rules_.push_back({std::move(name), nothing()});
  return static_cast<RuleNumber>(rules_.size() - 1);
}

RuleNumber Syntax::rule_of(std::string name, Expression body) {
  const RuleNumber rule = add_rule(std::move(name));
  define(rule, body);
  return rule;
}

}  // namespace longhaul::grammar
