#include "tokenizer/merge_symbols.h"

#include <algorithm>

namespace longhaul {

namespace {
constexpr size_t kNone = ~size_t{0};
}

bool SymbolMerger::later(const Candidate& a, const Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

void SymbolMerger::consider(const MergeTable& table, const std::vector<Symbol>& symbols,
                            size_t left, size_t right) {
  const Merge* merge = table.find(symbols[left].id, symbols[right].id);
  if (merge == nullptr) return;
  heap_.push_back({merge->rank, merge->result, left, right, symbols[left].id, symbols[right].id});
}

void SymbolMerger::merge(const MergeTable& table, std::vector<Symbol>& symbols) {
  const size_t count = symbols.size();
  if (count < 2) return;
  heap_.clear();
  next_.resize(count);
  previous_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    previous_[i] = i == 0 ? kNone : i - 1;
    next_[i] = i + 1 == count ? kNone : i + 1;
    if (i + 1 < count) consider(table, symbols, i, i + 1);
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  const auto push = [&](size_t left, size_t right) {
    const size_t before = heap_.size();
    consider(table, symbols, left, right);
    if (heap_.size() != before) std::push_heap(heap_.begin(), heap_.end(), later);
  };
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    Symbol& left = symbols[best.left];
    Symbol& right = symbols[best.right];
    const bool stale = left.bytes == 0 || right.bytes == 0 || left.id != best.left_id ||
                       right.id != best.right_id || next_[best.left] != best.right;
    if (stale) continue;
    left.id = best.result;
    left.bytes += right.bytes;
    right.bytes = 0;
    const size_t after = next_[best.right];
    next_[best.left] = after;
    if (after != kNone) {
      previous_[after] = best.left;
      push(best.left, after);
    }
    if (previous_[best.left] != kNone) push(previous_[best.left], best.left);
  }
  std::erase_if(symbols, [](const Symbol& symbol) { return symbol.bytes == 0; });
}

}  // namespace longhaul
