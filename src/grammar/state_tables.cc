#include "grammar/state_tables.h"

#include <algorithm>

#include "base/error.h"
#include "base/seeded_hash.h"

namespace longhaul::grammar {
namespace {

constexpr size_t kMostItems = 20'000;
constexpr size_t kMostSeen = 1 << 14;  // beyond it the table of seen items is emptied

uint64_t pack(uint32_t high, uint32_t low) { return (uint64_t{high} << 32) | low; }
uint32_t high_of(uint64_t packed) { return static_cast<uint32_t>(packed >> 32); }
uint32_t low_of(uint64_t packed) { return static_cast<uint32_t>(packed); }

}  // namespace

StateTables::StateTables(std::shared_ptr<const Automaton> automaton)
    : automaton_(std::move(automaton)), calls_(1) {
  set_.clear();
  intern();  // kDead
}

uint32_t StateTables::pushed(uint32_t back, uint32_t outer) {
  const auto [place, added] =
      call_numbers_.emplace(pack(back, outer), static_cast<uint32_t>(calls_.size()));
  if (added) calls_.push_back({back, outer});
  return place->second;
}

std::vector<uint32_t> StateTables::opened(uint32_t call) const {
  std::vector<uint32_t> backs;
  for (; call != 0; call = calls_[call].outer) backs.push_back(calls_[call].back);
  return backs;
}

uint32_t StateTables::with_outermost(uint32_t call, uint32_t back) {
  const std::vector<uint32_t> backs = opened(call);
  uint32_t made = pushed(back, 0);
  for (size_t i = backs.size(); i-- > 0;) made = pushed(backs[i], made);
  return made;
}

void StateTables::add_closure(uint32_t automaton_state, uint32_t call) {
  const auto visit = [this](uint32_t s, uint32_t c) {
    const Packed item = pack(s, c);
    uint32_t& round = seen_[item];
    if (round == round_) return;
    round = round_;
    left_.push_back(item);
  };
  visit(automaton_state, call);
  while (!left_.empty()) {
    const uint32_t s = high_of(left_.back()), c = low_of(left_.back());
    left_.pop_back();
    if (!automaton_->byte_edges(s).empty()) {
      set_.push_back(pack(s, c));
      if (set_.size() > kMostItems) {
        user_error("the grammar is too ambiguous: a text can be read in more than {} ways",
                   kMostItems);
      }
    }
    for (const uint32_t target : automaton_->empty_edges(s)) visit(target, c);
    for (const CallEdge& edge : automaton_->call_edges(s)) {
      // A call at the end of a rule needs no return to that rule.
      visit(edge.start, automaton_->state(edge.back).only_final ? c : pushed(edge.back, c));
    }
    if (!automaton_->state(s).final) continue;
    if (c == 0) {
      set_pops_ = true;
    } else {
      visit(calls_[c].back, calls_[c].outer);
    }
  }
}

uint32_t StateTables::intern() {
  std::sort(set_.begin(), set_.end());
  set_.erase(std::unique(set_.begin(), set_.end()), set_.end());
  const uint64_t hash = seeded_hash(std::string_view(reinterpret_cast<const char*>(set_.data()),
                                                     set_.size() * sizeof(Packed))) +
                        (set_pops_ ? 1 : 0);
  uint32_t number = static_cast<uint32_t>(states_.size());
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const TableState& state = states_[known->second];
    if (state.pops == set_pops_ && state.count == set_.size() &&
        std::equal(set_.begin(), set_.end(), items_.begin() + state.first)) {
      number = known->second;
    }
  }
  if (number == states_.size()) {
    states_.push_back(
        {static_cast<uint32_t>(items_.size()), static_cast<uint32_t>(set_.size()), -1, set_pops_});
    items_.insert(items_.end(), set_.begin(), set_.end());
    by_hash_.emplace(hash, number);
  }
  set_.clear();
  set_pops_ = false;
  ++round_;
  if (seen_.size() > kMostSeen) seen_.clear();
  return number;
}

uint32_t StateTables::resume(uint32_t automaton_state) {
  ++round_;
  add_closure(automaton_state, 0);
  return intern();
}

void StateTables::expand(uint32_t state) {
  const size_t classes = automaton_->classes();
  // For each class the targets of its edges, as automaton state and call.
  std::vector<std::vector<Packed>> targets(classes);
  const TableState from = states_[state];
  for (uint32_t i = 0; i < from.count; ++i) {
    const Packed item = items_[from.first + i];
    for (const ByteEdge& edge : automaton_->byte_edges(high_of(item))) {
      const size_t last = automaton_->class_of(edge.high);
      for (size_t c = automaton_->class_of(edge.low); c <= last; ++c) {
        targets[c].push_back(pack(edge.target, low_of(item)));
      }
    }
  }
  std::vector<uint32_t> row(classes, kDead);
  for (size_t c = 0; c < classes; ++c) {
    if (targets[c].empty()) continue;
    const auto same =
        std::find(targets.begin(), targets.begin() + static_cast<ptrdiff_t>(c), targets[c]);
    if (same != targets.begin() + static_cast<ptrdiff_t>(c)) {
      row[c] = row[static_cast<size_t>(same - targets.begin())];
      continue;
    }
    ++round_;
    for (const Packed target : targets[c]) add_closure(high_of(target), low_of(target));
    row[c] = intern();
  }
  states_[state].row = static_cast<int64_t>(table_.size());
  table_.insert(table_.end(), row.begin(), row.end());
}

uint32_t StateTables::unwind(uint32_t state, uint32_t back) {
  const uint64_t key = pack(state, back);
  if (const auto known = unwound_.find(key); known != unwound_.end()) return known->second;
  const TableState from = states_[state];
  ++round_;
  for (uint32_t i = 0; i < from.count; ++i) {
    const Packed item = items_[from.first + i];
    const Packed moved = pack(high_of(item), with_outermost(low_of(item), back));
    seen_[moved] = round_;
    set_.push_back(moved);
  }
  add_closure(back, 0);
  return unwound_[key] = intern();
}

const StateTables::Parted& StateTables::part(uint32_t state) {
  if (const auto known = parted_.find(state); known != parted_.end()) return known->second;
  const TableState from = states_[state];
  std::vector<uint32_t> common;  // the outermost first
  for (uint32_t i = 0; i < from.count; ++i) {
    std::vector<uint32_t> backs = opened(low_of(items_[from.first + i]));
    std::reverse(backs.begin(), backs.end());
    if (i == 0) {
      common = std::move(backs);
    } else {
      const auto ends = std::mismatch(common.begin(), common.end(), backs.begin(), backs.end());
      common.erase(ends.first, common.end());
    }
    if (common.empty()) break;
  }
  if (from.pops) common.clear();
  Parted parted{state, common};
  if (!common.empty()) {
    for (uint32_t i = 0; i < from.count; ++i) {
      const Packed item = items_[from.first + i];
      const std::vector<uint32_t> backs = opened(low_of(item));
      uint32_t call = 0;
      for (size_t k = backs.size() - common.size(); k-- > 0;) call = pushed(backs[k], call);
      set_.push_back(pack(high_of(item), call));
    }
    parted.state = intern();
  }
  return parted_[state] = std::move(parted);
}

bool StateTables::same_for(uint32_t state, uint8_t low, uint8_t high, uint32_t& target) {
  for (size_t byte = low; byte <= high; ++byte) {
    const uint32_t to = next(state, static_cast<uint8_t>(byte));
    if (to == kDead) return false;
    if (target == kDead) target = to;
    if (to != target) return false;
  }
  return true;
}

uint32_t StateTables::plain_next(uint32_t state) {
  if (const auto known = plain_.find(state); known != plain_.end()) return known->second;
  uint32_t to = kDead;
  const auto check = [&] {
    for (const auto& [low, high] : {std::pair{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7E}}) {
      if (!same_for(state, static_cast<uint8_t>(low), static_cast<uint8_t>(high), to)) return false;
    }
    // Every lead byte, and the ranges of the bytes after it.
    struct Lead {
      int low, high, second_low, second_high, more;
    };
    constexpr Lead kLeads[] = {{0xC2, 0xDF, 0x80, 0xBF, 0}, {0xE0, 0xE0, 0xA0, 0xBF, 1},
                               {0xE1, 0xEC, 0x80, 0xBF, 1}, {0xED, 0xED, 0x80, 0x9F, 1},
                               {0xEE, 0xEF, 0x80, 0xBF, 1}, {0xF0, 0xF0, 0x90, 0xBF, 2},
                               {0xF1, 0xF3, 0x80, 0xBF, 2}, {0xF4, 0xF4, 0x80, 0x8F, 2}};
    for (const Lead& lead : kLeads) {
      uint32_t now = kDead;
      if (!same_for(state, static_cast<uint8_t>(lead.low), static_cast<uint8_t>(lead.high), now)) {
        return false;
      }
      for (int i = lead.more; i >= 0; --i) {
        const bool second = i == lead.more;
        uint32_t after = i == 0 ? to : kDead;
        if (!same_for(now, static_cast<uint8_t>(second ? lead.second_low : 0x80),
                      static_cast<uint8_t>(second ? lead.second_high : 0xBF), after)) {
          return false;
        }
        if (pops(now)) return false;
        now = after;
      }
    }
    return true;
  };
  return plain_[state] = check() ? to : kDead;
}

bool StateTables::no_plain(uint32_t state) {
  for (int byte = 0x20; byte <= 0xF4; ++byte) {
    const bool plain = byte != '"' && byte != '\\' && (byte < 0x7F || byte >= 0xC2);
    if (plain && next(state, static_cast<uint8_t>(byte)) != kDead) return false;
  }
  return true;
}

std::vector<StateTables::Item> StateTables::items(uint32_t state) const {
  std::vector<Item> out;
  const TableState& from = states_[state];
  for (uint32_t i = 0; i < from.count; ++i) {
    const Packed item = items_[from.first + i];
    out.push_back({high_of(item), opened(low_of(item))});
  }
  return out;
}

uint32_t StateTables::state_of(const std::vector<Item>& items, bool pops) {
  for (const Item& item : items) {
    uint32_t call = 0;
    for (size_t i = item.open.size(); i-- > 0;) call = pushed(item.open[i], call);
    set_.push_back(pack(item.state, call));
  }
  set_pops_ = pops;
  return intern();
}

size_t StateTables::memory_bytes() const {
  constexpr size_t kMapEntry = 48;  // bytes in an unordered map, about
  return states_.capacity() * sizeof(TableState) + items_.capacity() * sizeof(Packed) +
         table_.capacity() * sizeof(uint32_t) + calls_.capacity() * sizeof(Call) +
         kMapEntry * (call_numbers_.size() + by_hash_.size() + unwound_.size() + plain_.size() +
                      2 * parted_.size());
}

}  // namespace longhaul::grammar
