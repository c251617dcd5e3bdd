#include "tokenizer/token_automaton.h"

#include <algorithm>
#include <numeric>

namespace longhaul {

namespace {

/// The byte at distance `depth` from the last.
uint8_t from_behind(std::string_view text, size_t depth) {
  return static_cast<uint8_t>(text[text.size() - 1 - depth]);
}

/// Entries [low, high), sorted by their reversed texts, that share their last bytes.
struct Range {
  uint32_t low, high;
};

}  // namespace

TokenAutomaton::TokenAutomaton(std::span<const Entry> entries) {
  if (entries.empty()) return;
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const std::string_view x = entries[a].text, y = entries[b].text;
    return std::lexicographical_compare(
        x.rbegin(), x.rend(), y.rbegin(), y.rend(),
        [](char c, char d) { return static_cast<uint8_t>(c) < static_cast<uint8_t>(d); });
  });

  // Breadth-first, so that a state's fail state and parent are complete before it.
  std::vector<Range> level = {{0, static_cast<uint32_t>(order.size())}}, next;
  uint32_t parent = 0;  // state of level[0]
  states_.emplace_back();
  for (size_t depth = 0; !level.empty(); ++depth) {
    next.clear();
    const auto first_child = static_cast<uint32_t>(states_.size());
    for (size_t i = 0; i < level.size(); ++i) {
      const auto state = parent + static_cast<uint32_t>(i);
      auto [low, high] = level[i];
      states_[state].first_edge = static_cast<uint32_t>(edges_.size());
      if (entries[order[low]].text.size() == depth) ++low;  // ends here and is its own state
      while (low < high) {
        const uint8_t byte = from_behind(entries[order[low]].text, depth);
        uint32_t end = low + 1;
        while (end < high && from_behind(entries[order[end]].text, depth) == byte) ++end;
        State made;
        if (state != 0) made.fail = step(states_[state].fail, byte);
        made.longest = states_[made.fail].longest;
        made.longest_plain = states_[made.fail].longest_plain;
        if (const Entry& entry = entries[order[low]]; entry.text.size() == depth + 1) {
          made.longest = order[low];
          if (!entry.special) made.longest_plain = order[low];
        }
        if (state == 0) from_root_[byte] = static_cast<uint32_t>(states_.size());
        edges_.push_back(byte);
        states_.push_back(made);
        next.push_back({low, end});
        low = end;
      }
    }
    parent = first_child;
    level.swap(next);
  }
  states_.emplace_back().first_edge = static_cast<uint32_t>(edges_.size());
}

uint32_t TokenAutomaton::child(uint32_t state, uint8_t byte) const {
  const auto begin = edges_.begin() + states_[state].first_edge;
  const auto end = edges_.begin() + states_[state + 1].first_edge;
  const auto found = std::lower_bound(begin, end, byte);
  if (found == end || *found != byte) return kNone;
  return static_cast<uint32_t>(found - edges_.begin()) + 1;  // each edge created one state
}

uint32_t TokenAutomaton::step(uint32_t state, uint8_t byte) const {
  for (; state != 0; state = states_[state].fail) {
    if (const uint32_t next = child(state, byte); next != kNone) return next;
  }
  return from_root_[byte];
}

}  // namespace longhaul
